import { useAnnounced } from '../parts/announce.tsx'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { count } from '../parts/figures.ts'
import { Code } from '../parts/section.tsx'
import { Loading, Note } from '../parts/states.tsx'
import { type DiffLine, diffLines } from './diff-lines.ts'
import { sentence } from './sentence.ts'
import type { SetupState } from './setup-queries.ts'
import type { ChangeState } from './use-change.ts'

interface ChangePanelProps {
  readonly setup: SetupState
  readonly change: ChangeState
  /** What the form still lacks. */
  readonly missing: string
  /** Why it can't be written yet, although the change is shown. */
  readonly blocked?: string | undefined
  /** What speaks against writing it. */
  readonly caution?: string | undefined
  readonly action?: string
  readonly hosts?: AllowedHosts
  readonly onWrite: () => void
}

/** The private addresses that the change allows. */
export interface AllowedHosts {
  readonly allowed: readonly string[]
  readonly onChange: (allowed: readonly string[]) => void
}

/** The change of the file, with a button that writes it; or the text to copy, with the reason. */
export function ChangePanel({
  setup,
  change,
  missing,
  blocked,
  caution,
  action = 'Write and reload',
  hosts,
  onWrite,
}: ChangePanelProps) {
  const { view, error, complete } = change
  const file = setup.file ?? 'toolyard.config.json'
  const warnings = (view?.warnings.length ?? 0) + (caution === undefined ? 0 : 1)
  const isShown = complete && view !== undefined && !error
  useAnnounced(isShown ? `The change is shown${warnings > 0 ? `, with ${count(warnings, 'warning')}` : ''}.` : '')
  return (
    <section aria-labelledby="change" className="panel min-w-0 p-4 lg:sticky lg:top-16">
      <h2 id="change" className="text-lg font-semibold">
        Change to <Code>{file}</Code>
      </h2>
      <div className="mt-3 grid grid-cols-1 gap-3">
        {change.outdated && (
          <Note tone="warn" role="alert">
            The file has changed since you saw this. Check the change again, then write it.
          </Note>
        )}
        {change.writeError && (
          <Note tone="bad" role="alert">
            {change.writeError.message}
          </Note>
        )}
        {error && (
          <Note tone="bad" role="alert">
            {error.message}
          </Note>
        )}
        {!complete && <Missing text={missing} />}
        {complete && view === undefined && !error && <Loading what="the change" />}
        {complete && view !== undefined && !error && (
          <Shown {...{ setup, change, view, blocked, caution, action, onWrite }} {...(hosts && { hosts })} />
        )}
      </div>
    </section>
  )
}

const Missing = ({ text }: { readonly text: string }) => (
  <p
    role="status"
    className="grid min-h-24 place-items-center rounded-lg border border-dashed border-line p-4 text-center text-sm text-muted"
  >
    {text}
  </p>
)

interface ShownProps extends Omit<ChangePanelProps, 'missing'> {
  readonly view: NonNullable<ChangeState['view']>
}

function Shown({ setup, change, view, blocked, caution, action, hosts, onWrite }: ShownProps) {
  const reason = change.refused ?? (setup.writable ? undefined : (setup.reason ?? view.reason))
  const lines = diffLines(view.diff)
  return (
    <>
      {view.warnings.map((warning) => (
        <Note key={warning} tone="warn">
          {warning}
        </Note>
      ))}
      {hosts !== undefined && view.private_hosts.map((one) => <AllowHost key={one.host} {...one} {...hosts} />)}
      {view.secrets.length > 0 && (
        <Note>
          {view.secrets.map(({ name, place }) => (
            <p key={name}>
              <Code>{name}</Code> is stored encrypted on the server{place !== '' && `, for ${place}`}.
            </p>
          ))}
        </Note>
      )}
      {reason !== undefined && (
        <Note tone="warn" role="status">
          <p className="font-medium">The server can’t write this file.</p>
          <p>{sentence(reason)}</p>
        </Note>
      )}
      {reason === undefined && lines.length === 0 && <Note>The file needs no change.</Note>}
      {(reason === undefined || view.text === '') && lines.length > 0 && <Diff lines={lines} />}
      {reason !== undefined && view.text !== '' && <Text text={view.text} />}
      {caution !== undefined && <Note tone="warn">{caution}</Note>}
      <div className="flex flex-wrap gap-2">
        {reason === undefined && (
          <Button look="main" disabled={!change.current || change.writing || blocked !== undefined} onClick={onWrite}>
            {change.writing ? 'Writing …' : action}
          </Button>
        )}
        {view.text !== '' && <CopyButton text={view.text} label="Copy" />}
      </div>
      {blocked !== undefined && reason === undefined && <p className="text-sm text-muted">{blocked}</p>}
      {reason === undefined && lines.length > 0 && (
        <p className="text-sm text-muted">
          {setup.creates
            ? 'The server creates the file and records the change in the audit log.'
            : 'The server keeps a backup of the file and records the change in the audit log.'}
        </p>
      )}
    </>
  )
}

interface AllowHostProps extends AllowedHosts {
  readonly host: string
  readonly addresses: readonly string[]
}

function AllowHost({ host, addresses, allowed, onChange }: AllowHostProps) {
  const others = allowed.filter((address) => !addresses.includes(address))
  const listed = addresses.join(' and ')
  return (
    <Note>
      <label className="flex items-start gap-2.5">
        <input
          type="checkbox"
          className="mt-0.5 size-4 shrink-0 accent-accent"
          checked={addresses.every((address) => allowed.includes(address))}
          onChange={({ target }) => onChange(target.checked ? [...others, ...addresses] : others)}
        />
        <span>
          <span className="block font-medium">Allow tools to reach {host}</span>
          Adds {listed} to <Code>http.allow_private</Code>. This holds for the whole server, not only for this tool:
          everything with this host in its URL can then reach it.
        </span>
      </label>
    </Note>
  )
}

const LOOKS: Readonly<Record<DiffLine['kind'], string>> = {
  added: 'bg-good-ground text-good',
  removed: 'bg-bad-ground text-bad',
  same: '',
  gap: 'text-muted',
}
const SIGNS: Readonly<Record<DiffLine['kind'], string>> = { added: '+', removed: '−', same: ' ', gap: ' ' }

const BOX = 'max-h-[60vh] overflow-auto rounded-lg border border-line bg-sunk py-2 font-mono text-xs leading-5'

const Diff = ({ lines }: { readonly lines: readonly DiffLine[] }) => (
  <section aria-label="Changed lines" tabIndex={0} className={BOX}>
    <pre className="min-w-full max-sm:wrap-anywhere max-sm:whitespace-pre-wrap sm:w-max">
      {lines.map(({ kind, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines repeat, and never move.
        <span key={index} className={`block px-3 ${LOOKS[kind]}`}>
          <span className="mr-2 select-none">{SIGNS[kind]}</span>
          {text}
          {'\n'}
        </span>
      ))}
    </pre>
  </section>
)

const Text = ({ text }: { readonly text: string }) => (
  <section aria-label="Text to copy" tabIndex={0} className={BOX}>
    <pre className="min-w-full px-3 max-sm:wrap-anywhere max-sm:whitespace-pre-wrap sm:w-max">{text}</pre>
  </section>
)
