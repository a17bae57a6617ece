"""One foreign thing each: files, tokenizer data, model providers."""
