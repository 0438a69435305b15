/** Words that a request begins with. A clause that begins with none of them belongs to the one before it. */
const BEGINNINGS = new Set(
  (
    'add answer ask book buy calculate call cancel change check clear close compare compute convert copy count create decrease define delete describe ' +
    'dim disable display download draw email enable estimate evaluate explain extract fetch find fix generate get give go help increase ' +
    'insert install ingest list locate lock look lower make mark measure message move mute name open order pause pay plan play post predict print publish ' +
    'put raise read recommend record reduce remind remove rename repeat replace reply reserve reset restart resume retrieve run save schedule search reverse select send set share show ' +
    'shut silence skip solve sort split start stop summarise summarize switch take tell text toggle translate turn unlock unmute update upload use ' +
    'visit wake warm write'
  ).split(' '),
)
const QUESTIONS = new Set('how what what’s when where which who why'.split(' '))
/** What may stand before a request. */
const POLITE =
  /^(?:(?:please|hey|hi|hello|ok|okay|now|so|first|can you|could you|would you|will you|i want(?: you)? to|i(?:'d| would) like(?: you)? to|i need(?: you)? to|let['’]s)[\s,]+)+/i
const JOINTS =
  /(?:(?:(?<!\s)\s+)?(?:[.;!?]\s+|,\s*(?:and\s+)?(?:then\s+)?)|(?<!\s)\s+(?:and\s+then|and\s+also|and|then|also)\s+)(?:please\s+|also\s+)?/giu
/** Nobody says more at once; a longer text is something else. */
const MAX_CLAUSES = 8
const LONGEST = 1_000

/** The requests that may be in a sentence: cut only before words that a request begins with, and never in quotes. */
export function splitRequest(said: string): string[] {
  if (said.length > LONGEST) return [said]
  const clauses: string[] = []
  let start = 0
  for (const { index, 0: joint } of said.matchAll(JOINTS)) {
    const at = index + joint.length
    // A question after a mere comma is as often a quotation.
    const begins = isRequest(said.slice(at, at + 60), /\p{L}|[.;!?]/u.test(joint))
    const clause = said.slice(start, index).trim()
    if (!begins || quoted(said, index) || !isRequest(clause, true) || clause.split(/\s+/).length < 2) continue
    clauses.push(clause)
    start = at
  }
  const rest = said.slice(start).trim()
  if (rest !== '') clauses.push(rest)
  return clauses.length > MAX_CLAUSES ? [said] : clauses
}

/** Whether a text begins as a request or a question does. */
export const beginsRequest = (text: string): boolean => isRequest(text, true) && !/^(?:what|how) about\b/i.test(text)

function isRequest(text: string, questions: boolean): boolean {
  const first = /^[\p{L}’']+/u.exec(text.replace(POLITE, ''))?.[0].toLowerCase().replace("'", '’') ?? ''
  return BEGINNINGS.has(first) || (questions && QUESTIONS.has(first))
}

/** Whether a place stands inside quotes. */
function quoted(said: string, at: number): boolean {
  const before = said.slice(0, at)
  const doubles = (before.match(/"/g) ?? []).length % 2 === 1
  const singles = (before.match(/(?<![\p{L}\p{N}])'|'(?![\p{L}\p{N}])/gu) ?? []).length % 2 === 1
  return doubles || singles || before.lastIndexOf('“') > before.lastIndexOf('”')
}
