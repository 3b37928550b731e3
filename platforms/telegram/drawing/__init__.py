"""What both forms of a message are drawn with: text and its entities, cards, inline markup, words that ping."""
