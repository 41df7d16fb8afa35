"""What a person gets: explanations, why-not answers, what is stored, and their values as text."""
