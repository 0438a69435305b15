const NUMBERS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/**
 * A name as people say it and recognisers write it: `Switch_One`, "the switch one" and "switch 1" are the same. Letters of
 * every script count; everything else separates words.
 */
export function spokenName(name: string): string {
  const words =
    name
      .toLowerCase()
      .normalize('NFC')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  const numbered = words.map((word) => {
    const number = NUMBERS.indexOf(word)
    return number === -1 ? word : String(number)
  })
  while (numbered.length > 1 && (numbered[0] === 'the' || numbered[0] === 'my')) numbered.shift()
  return numbered.join(' ')
}
