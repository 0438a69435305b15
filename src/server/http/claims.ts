/** What a token says about its user. */
export type Claims = Readonly<Record<string, unknown>>

const MAX_NAME_LENGTH = 100

/** Lists in one text, as OAuth writes them. */
const SCOPES: ReadonlySet<string> = new Set(['scope', 'scp'])

export const isClaims = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * A claim by its name, or by its path such as `realm_access.roles`. Names may contain dots, such as
 * `https://example.com/roles`: the longest name that the token has counts.
 */
export function claimOf(claims: unknown, path: string): unknown {
  if (!isClaims(claims)) return undefined
  if (Object.hasOwn(claims, path)) return claims[path]
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot)
    const found = Object.hasOwn(claims, name) ? claimOf(claims[name], path.slice(dot + 1)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** All texts of these claims. */
export function valuesOf(claims: Claims, paths: string | readonly string[]): ReadonlySet<string> {
  const values = [paths].flat().flatMap((path) => {
    const value = claimOf(claims, path)
    return SCOPES.has(path) && typeof value === 'string' ? value.split(' ') : [value].flat()
  })
  return new Set(values.filter((value): value is string => typeof value === 'string' && value !== ''))
}

/** Claims that the issuer left out because they are too long, as Entra ID does with the groups of some users. */
export const isLeftOut = ({ _claim_names }: Claims, paths: string | readonly string[]): boolean =>
  isClaims(_claim_names) && [paths].flat().some((path) => Object.hasOwn(_claim_names, path))

/** The client that got the token; each issuer has its own claim for it. */
export const clientOf = ({ azp, appid, cid, client_id }: Claims): string | undefined =>
  [azp, appid, cid, client_id].find((one) => typeof one === 'string' && one !== '') as string | undefined

export const issuedAt = ({ iat }: Claims): number => Number(iat) * 1_000 || 0

export function nameOf({ name, preferred_username, username, email }: Claims, subject: string): string {
  const given = [name, preferred_username, username, email, subject].find(
    (one) => typeof one === 'string' && one.trim() !== '',
  )
  return String(given)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .slice(0, MAX_NAME_LENGTH)
}
