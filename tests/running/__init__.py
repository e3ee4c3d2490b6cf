"""What tests run: the program, a browser, Spark, a server of data sets, calls that are limited, and updates."""
