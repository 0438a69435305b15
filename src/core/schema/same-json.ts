/** Whether two JSON values are equal. Stops at the first difference, so that it costs no more than the smaller one. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = Object.keys(one)
  if (names.length !== Object.keys(other).length) return false
  return names.every((name) => {
    return Object.hasOwn(other, name) && sameJson((one as Values)[name], (other as Values)[name])
  })
}

type Values = Readonly<Record<string, unknown>>
