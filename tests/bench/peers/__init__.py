"""Other systems that say which rows stand behind a row: each in an environment of its own, asked over its standard input and output."""
