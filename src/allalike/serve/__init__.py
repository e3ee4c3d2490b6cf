"""Local web page for dropping files of answers, checking how they are read, and downloading the labels."""
