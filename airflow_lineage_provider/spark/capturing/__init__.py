"""From a DataFrame to a plan: the analyzed plan's document, and what it leaves out."""
