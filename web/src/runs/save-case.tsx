import { useQuery } from '@tanstack/react-query'
import type { StoredRun } from '../../../src/core/storage/run-store.ts'
import { caseAddress, runCaseQuery, suitesQuery, useMay } from '../api/queries.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { Failed, Loading } from '../parts/states.tsx'

/** Saves the run as a test case. */
export function SaveCase({ run }: { readonly run: StoredRun }) {
  const mayValidate = useMay('validate')
  const { data: made, error } = useQuery(runCaseQuery(run.id))
  const { data: suites } = useQuery({ ...suitesQuery, enabled: mayValidate })
  const file = `run-${run.id.slice(0, 8)}.jsonl`
  const command = `toolyard validate --suite .toolyard/suites/${file} --models ${run.model}`
  if (error) return <Failed error={error} what="the case" />
  if (made === undefined) return <Loading what="the case" />
  return (
    <section aria-label="Save as validation case" className="panel mt-3 min-w-0 p-4">
      <p className="max-w-prose text-sm text-muted">
        The case contains the query, the tools, their results, and the calls of this run as the expected ones. Check
        that these calls are right before you save it.
      </p>
      <h2 className="mt-3 text-sm font-medium">Expected</h2>
      <div className="mt-1 max-h-96 overflow-auto rounded-lg bg-sunk p-3">
        <JsonTree value={made.expect} label="Expected" />
      </div>
      <details className="mt-2">
        <summary className="cursor-pointer text-sm font-medium">The whole case</summary>
        <div className="mt-1 max-h-96 overflow-auto rounded-lg bg-sunk p-3">
          <JsonTree value={made} label="The case" />
        </div>
      </details>
      <a
        href={caseAddress(run.id)}
        download={file}
        className="mt-3 inline-flex min-h-9 items-center rounded-lg border border-accent bg-accent px-3 py-1 text-sm font-medium text-on-accent hover:brightness-110"
      >
        Download {file}
      </a>
      <ol className="mt-3 grid list-decimal gap-1 pl-5 text-sm">
        <li>
          Put the file into the folder <code className="font-mono">suites</code> of the data folder (
          <code className="font-mono">.toolyard/suites</code> or TOOLYARD_DATA/suites
          {suites?.folder.writable === false && '; this server can’t write there: ask its administrator'}).
        </li>
        <li>Run it on the Models page with any model, or on the command line:</li>
      </ol>
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <pre
          className="min-w-0 flex-1 overflow-x-auto max-sm:basis-full rounded-lg bg-sunk p-3 text-[0.8125rem]"
          tabIndex={0}
        >
          {command}
        </pre>
        <CopyButton text={command} label="Copy command" />
      </div>
    </section>
  )
}
