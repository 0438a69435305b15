/** Words that say nothing about what a text is about. */
const STOP_WORDS = new Set(
  `a about all also am an and any are as at be because been but by can could did do does doing for from get give had has
   have how i if in into is it its just like made make many may me more most much must my need no not of off on one only
   or other our out over please should show so some such tell than that the their them then there these they this those
   to too up us use used using very want was way we were what when where which while who why will with would you your`.split(
    /\s+/,
  ),
)

/** The words of a text that carry its meaning, each brought to its stem, in order. */
export function words(text: string): string[] {
  const found =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  return found.filter((word) => !STOP_WORDS.has(word) && (word.length > 1 || /\p{N}|\p{Lo}/u.test(word))).map(stem)
}

/** Takes common English endings off, so that `executes`, `executed` and `executing` meet. */
function stem(word: string): string {
  const base = word.replace(/(?<=[a-z]{4})(?:ing|ed|es|s)$|(?<=[a-z]{3})s$/, '')
  return base.replace(/(?<=[a-z]{3})e$/, '')
}
