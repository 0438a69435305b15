/** A quoted text: where its content stands, without the quotes. */
export interface Quote {
  readonly from: number
  readonly to: number
}

const QUOTED = [
  /"([^"\n]{1,1000})"/g,
  /“([^“”\n]{1,1000})”/g,
  // Between words an apostrophe is none.
  /(?<![\p{L}\p{N}])['‘](?=\S)([^\n]{1,1000}?)(?<=\S)['’](?![\p{L}\p{N}])/gu,
]

/** The quoted texts of what was said, unless everything is one quote. */
export function quotesIn(said: string): Quote[] {
  const found: Quote[] = []
  for (const pattern of QUOTED) {
    for (const { index, 1: content = '' } of said.matchAll(pattern)) {
      const quote = { from: index + 1, to: index + 1 + content.length }
      if (content.length < said.trim().length - 3 && !found.some((one) => overlap(one, quote))) found.push(quote)
    }
  }
  return found
}

const overlap = (left: Quote, right: Quote): boolean => left.from < right.to && right.from < left.to
