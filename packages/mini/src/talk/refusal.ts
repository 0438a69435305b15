const POLITE = /^(?:(?:please|hey|no|ok(?:ay)?|so|and|but)[\s,]+)+/i
/** "don't you think …?", "don't forget to …" and "I don't know" forbid nothing. */
const FORBIDS =
  /^(?:do not|don['’]?t|never|you (?:must|should) not|i (?:do not|don['’]?t) want(?: you)?)\s+(?!forget\b|you\b|worry\b|hesitate\b)\S/i

/** Whether somebody says what shall not be done: nothing is called for that. */
export const forbids = (said: string): boolean => FORBIDS.test(said.trim().replace(POLITE, ''))
