import type { AuditRow } from '../../../../src/core/storage/ledger.ts'
import type { ToolErrorCode } from '../../../../src/core/tool-result.ts'

/** Query parameters of the endpoint; the URL of the page uses the same names. */
export const ASKED = ['type', 'tool', 'caller', 'run_id', 'outcome', 'error_code', 'from', 'to', 'tenant'] as const

/** The row types and their labels. Default: calls. */
export const TYPES: Readonly<Record<string, { readonly label: string; readonly one: string }>> = {
  call: { label: 'Calls', one: 'call' },
  event: { label: 'Events', one: 'event' },
  all: { label: 'Calls and events', one: 'row' },
}

/** What each event means. */
export const EVENTS: Readonly<Record<string, string>> = {
  'config.changed': 'The configuration file was changed from the web UI, or a change was refused.',
  'config.loaded': 'A server loaded its configuration.',
  'flag.removed': 'A flag of the tenant was removed.',
  'flag.set': 'A flag of the tenant was set.',
  'approval.asked': 'A call asked for approval.',
  'approval.decided': 'A call was approved or rejected.',
  'key.changed': 'The name or the rights of an API key were changed.',
  'key.created': 'An API key was created.',
  'key.refused': 'An API key was refused: it is unknown, revoked or expired.',
  'key.revoked': 'An API key was revoked.',
  'key.rotated': 'An API key got another secret.',
  'key.restored': 'An API key that was revoked is valid again.',
  'mcp.pinned': 'The tools of an MCP server were approved.',
  'mcp.requested': 'A request was sent to an MCP server by hand.',
  'model.tested': 'A model was tested before it was added. The test sends the key to its provider.',
  'secret.removed': 'A secret was removed.',
  'secret.set': 'A secret was stored.',
  'session.started': 'A user signed in to the web UI.',
  'tenant.created': 'A tenant got its first key or flag.',
  'rating.changed': 'An answer was rated, or its rating was removed.',
  'suite.changed': 'A case of a saved suite was added, changed or removed.',
  'tenant.crossed': 'A caller asked for data of another tenant and was refused.',
  'user.revoked': 'A user was signed out by an administrator.',
}

/** Time ranges. */
export const SPANS: Readonly<Record<string, { readonly label: string; readonly ms: number }>> = {
  '1h': { label: 'Last hour', ms: 3_600_000 },
  '24h': { label: 'Last 24 hours', ms: 86_400_000 },
  '7d': { label: 'Last 7 days', ms: 604_800_000 },
}

/** What each outcome means. */
export const OUTCOMES: Readonly<Record<AuditRow['outcome'], string>> = {
  success: 'The call succeeded.',
  failure: 'The call failed.',
  unknown: 'The call failed, but the write may have happened.',
}

/** All error codes; the type checks that none is missing. */
const CODES: Readonly<Record<ToolErrorCode, true>> = {
  TOOL_NOT_FOUND: true,
  INVALID_PARAMETERS: true,
  PERMISSION_DENIED: true,
  APPROVAL_REQUIRED: true,
  CONNECTION_REQUIRED: true,
  RATE_LIMITED: true,
  TIMEOUT: true,
  CANCELLED: true,
  SERVICE_UNAVAILABLE: true,
  RESULT_TOO_LARGE: true,
  EXECUTION_ERROR: true,
}
export const ERROR_CODES: readonly string[] = Object.keys(CODES)

/** The view in the URL: filters, and the time range if there is no start time. */
export interface AuditView {
  readonly filters: Readonly<Record<string, string>>
  readonly last: string
}

/** Reads the URL. Ignores unknown time ranges. */
export function viewOf(params: URLSearchParams): AuditView {
  const filters: Record<string, string> = {}
  for (const name of ASKED) {
    const value = params.get(name)
    if (value && (name !== 'type' || Object.hasOwn(TYPES, value))) filters[name] = value
  }
  const last = params.get('last') ?? ''
  const named = 'from' in filters || 'to' in filters
  return { filters, last: !named && Object.hasOwn(SPANS, last) ? last : '' }
}

/** Whether a filter is set. */
export const isNarrowed = ({ filters, last }: AuditView): boolean => last !== '' || Object.keys(filters).length > 0

/** The URL of the endpoint for a view at the time `at`. */
export function auditPath({ filters, last }: AuditView, at: number, more: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ type: 'call', ...filters, ...more })
  if (query.get('type') === 'all') query.delete('type')
  const span = SPANS[last]
  if (span !== undefined) query.set('from', new Date(at - span.ms).toISOString())
  return `/audit?${query}`
}

/** Converts ISO 8601 to the local time of a datetime field; empty if it isn't a valid time. */
export function toField(iso: string | undefined): string {
  const time = new Date(iso ?? '')
  if (Number.isNaN(time.getTime())) return ''
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Converts the value of such a field to ISO 8601; empty if the field is empty. */
export function fromField(local: string): string {
  const time = new Date(local)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}
