const END = String.raw`[\s.!,~]*(?:\p{Extended_Pictographic}[\s.!,]*)*$`
const only = (words: string, end = END): RegExp => new RegExp(`^(?:${words})${end}`, 'iu')

const GREETING = only(
  '(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day))(?:[\\s,]+(?:there|all|everyone|everybody|you|mini|bot|again))*',
)
const THANKS = only(
  '(?:ok(?:ay)?|great|cool|perfect|no)?[\\s,]*(?:many )?(?:thanks|thank you|thx|ty|cheers)(?:[\\s,]+(?:a lot|a bunch|so much|very much|again|you|for (?:that|this|the help|your help|everything)))*',
)
const FAREWELL = only('(?:good ?bye|bye(?: bye)?|see you(?: later| soon)?|good night|cu|ciao)')
const YES =
  '(?:ok(?:ay)?|k|yes|yeah|yep|yup|no|nope|nah|cool|great|nice|perfect|awesome|good|fine|super|wow|lol|haha+|hm+|right|sure|i see|got it|well done|good (?:job|bot)|👍|🙏)'
/** What may stand after such words and is none of them, so that a row of 👍 is read in one way only. */
const AFTER_YES = String.raw`[\s.!,]*(?:~[\s.!,~]*(?:\p{Extended_Pictographic}[\s.!,]*)*|(?![👍🙏])(?:\p{Extended_Pictographic}[\s.!,]*)+)?$`
const ASSENT = only(`${YES}(?:[\\s,.!]*${YES})*`, AFTER_YES)

/** What is said to a greeting, thanks and the like, which want nothing done; undefined for anything else. */
export function smallTalk(said: string): string | undefined {
  if (GREETING.test(said)) return 'Hello! Say what to do, or ask "what can you do?".'
  if (THANKS.test(said)) return 'You are welcome.'
  if (FAREWELL.test(said)) return 'Goodbye.'
  return ASSENT.test(said) ? 'All right. Say what to do next, or ask "what can you do?".' : undefined
}
