"""A page on this computer, on which a person drops answers, sees how they were read, and gets their truths."""
