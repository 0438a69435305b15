/**
 * Whether a number is a multiple of another as people count: 19.99 is a multiple of 0.01, though the quotient of the
 * two as binary fractions is 1998.9999999999998.
 */
export function isMultipleOf(value: number, divisor: number): boolean {
  const quotient = value / divisor
  if (!Number.isFinite(quotient)) return value % divisor === 0
  return Math.abs(quotient - Math.round(quotient)) <= Math.min(Math.abs(quotient) * 4 * Number.EPSILON, 1e-6)
}
