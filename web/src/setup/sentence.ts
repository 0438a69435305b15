/** The server's reasons are parts of sentences. Beside other sentences they need a full stop, and a capital unless a name begins them. */
export const sentence = (text: string): string => {
  const whole = text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase())
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`
}
