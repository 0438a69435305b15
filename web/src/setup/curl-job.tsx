import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { CurlTool } from '../../../src/app/setup/curl-command.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { CrossIcon, RedoIcon } from '../parts/icons.tsx'
import { Code } from '../parts/section.tsx'
import { Chip, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { ChangePanel } from './change-panel.tsx'
import { Field, TextArea, TextField } from './field.tsx'
import { JobFrame, type JobProps } from './job-frame.tsx'
import { sentence } from './sentence.ts'
import {
  type DraftParameter,
  draftOf,
  draftProblems,
  type ProposedTool,
  type ToolDraft,
  TYPES,
  toolOf,
  withVariables,
} from './tool-draft.ts'
import { useChange } from './use-change.ts'
import { writtenToast } from './written-toast.ts'

interface Proposal extends Omit<CurlTool, 'tool'> {
  readonly tool: ProposedTool
}

const PLACEHOLDER = `curl 'https://api.example.com/v1/users/42?fields=name' \\
  -H 'Authorization: Bearer …'`

/** Makes a tool of a curl command: paste, edit the proposal, write. */
export function CurlJob({ setup }: JobProps) {
  const [, goTo] = useLocation()
  const [command, setCommand] = useState('')
  const [draft, setDraft] = useState<ToolDraft>()
  const [allowed, setAllowed] = useState<readonly string[]>([])
  const read = useMutation({
    mutationFn: (asked: string) =>
      requestJson<Proposal>('/api/setup/curl', { method: 'POST', body: { command: asked } }),
    gcTime: 0,
    onSuccess: ({ tool }) => {
      setDraft(draftOf(tool))
      setAllowed([])
    },
  })
  const stores = setup.secrets.enabled
  const proposal = read.variables === command ? read.data : undefined
  const problems = draft === undefined ? undefined : draftProblems(draft)
  const whole =
    proposal !== undefined && draft !== undefined && problems?.size === 0
      ? ({
          kind: 'http_tool',
          ...(allowed.length > 0 && { allow_private: allowed }),
          ...(stores
            ? { tool: toolOf(proposal.tool, draft), command }
            : { tool: withVariables(toolOf(proposal.tool, draft)) }),
        } as const)
      : undefined
  const change = useChange(whole, (view) => {
    const name = whole?.tool.name ?? ''
    setCommand('')
    toast(
      writtenToast(`Added the tool ${name}.`, view, {
        label: `Open ${name}`,
        href: `/tool/${encodeURIComponent(name)}`,
      }),
    )
    goTo('/')
  })
  const start = () => {
    if (command.trim() !== '' && !read.isPending) read.mutate(command)
  }
  return (
    <JobFrame
      form={
        <>
          <TextArea
            label="curl command"
            hint="Paste it as you run it. Keys in it don’t go into the file."
            placeholder={PLACEHOLDER}
            rows={5}
            value={command}
            onChange={setCommand}
            onSubmit={start}
          />
          {read.error && read.variables === command && (
            <Note tone="bad" role="alert">
              {read.error.message}
            </Note>
          )}
          <div>
            <Button disabled={command.trim() === '' || read.isPending} onClick={start}>
              {read.isPending ? 'Reading …' : 'Read the command'}
            </Button>
          </div>
          {proposal !== undefined && draft !== undefined && problems !== undefined && (
            <Editor {...{ setup, proposal, draft, problems }} onChange={setDraft} />
          )}
        </>
      }
      change={
        <ChangePanel
          setup={setup}
          change={change}
          missing={[...(problems?.values() ?? [])][0] ?? 'Paste a command and read it to see the change.'}
          hosts={{ allowed, onChange: setAllowed }}
          onWrite={() => whole !== undefined && change.write(whole)}
        />
      }
    />
  )
}

interface EditorProps extends JobProps {
  readonly proposal: Proposal
  readonly draft: ToolDraft
  readonly problems: ReadonlyMap<string, string>
  readonly onChange: (draft: ToolDraft) => void
}

function Editor({ setup, proposal, draft, problems, onChange }: EditorProps) {
  const { enabled: stores, reason } = setup.secrets
  const { method = 'GET', url = '' } = proposal.tool.implementation
  const change = (origin: string, part: Partial<DraftParameter>) =>
    onChange({
      ...draft,
      parameters: draft.parameters.map((one) => (one.origin === origin ? { ...one, ...part } : one)),
    })
  return (
    <section aria-label="The tool" className="grid grid-cols-1 gap-4 border-t border-line pt-4">
      <p className="text-sm wrap-anywhere">
        <Chip>{String(method)}</Chip> <Code>{String(url)}</Code>
      </p>
      {proposal.warnings.map((warning) => (
        <Note key={warning} tone="warn">
          {warning}
        </Note>
      ))}
      {!stores && proposal.secrets.length > 0 && (
        <Note tone="warn">
          <p>{sentence(reason ?? 'This server stores no secrets')}</p>
          {proposal.secrets.map(({ name }) => (
            <p key={name}>
              Until then the tool reads the environment variable <Code>{name}</Code>.
            </p>
          ))}
        </Note>
      )}
      <TextField
        label="Name"
        mono
        maxLength={64}
        value={draft.name}
        problem={problems.get('name')}
        onChange={(name) => onChange({ ...draft, name })}
      />
      <Field label="Description" hint="Models choose tools by this text." problem={problems.get('description')}>
        {(props) => (
          <textarea
            {...props}
            className="field"
            rows={2}
            maxLength={1_024}
            value={draft.description}
            onChange={(event) => onChange({ ...draft, description: event.target.value })}
          />
        )}
      </Field>
      <div>
        <h2 className="text-sm font-medium">Parameters</h2>
        {draft.parameters.length === 0 && (
          <p className="mt-1 text-sm text-muted">The command has none, so every call sends the same request.</p>
        )}
        <ul aria-label="Parameters" className="mt-1 grid grid-cols-1 gap-2">
          {draft.parameters.map((one) => (
            <Parameter
              key={one.origin}
              parameter={one}
              problem={problems.get(one.origin)}
              onChange={(part) => change(one.origin, part)}
            />
          ))}
        </ul>
      </div>
    </section>
  )
}

interface ParameterProps {
  readonly parameter: DraftParameter
  readonly problem: string | undefined
  readonly onChange: (part: Partial<DraftParameter>) => void
}

function Parameter({ parameter, problem, onChange }: ParameterProps) {
  const { origin, name, type, description, required, removed, fixed } = parameter
  if (removed) {
    return (
      <li className="flex items-center justify-between gap-2 rounded-lg border border-dashed border-line px-3 py-1.5 text-sm text-muted">
        <span className="min-w-0 wrap-anywhere">
          <Code>{origin}</Code> is not sent.
        </span>
        <Button look="quiet" onClick={() => onChange({ removed: false })}>
          <RedoIcon /> Restore
        </Button>
      </li>
    )
  }
  const types = [...new Set([...TYPES, type])].map((one) => ({ value: one, label: one === '' ? 'any' : one }))
  return (
    <li className="rounded-lg border border-line p-3">
      <fieldset className="grid min-w-0 grid-cols-1 gap-2 sm:grid-cols-[1fr_8rem_auto]">
        <legend className="sr-only">Parameter {origin}</legend>
        <TextField
          label="Name"
          mono
          maxLength={64}
          value={name}
          problem={problem}
          onChange={(next) => onChange({ name: next })}
        />
        <div className="grid content-start gap-1">
          <span aria-hidden="true" className="text-sm font-medium">
            Type
          </span>
          <Choice
            label={`Type of ${origin}`}
            value={type}
            options={types}
            onChange={(next) => onChange({ type: next })}
          />
        </div>
        <div className="flex items-center gap-3 text-sm sm:mt-6">
          <label className="inline-flex min-h-6 items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={required}
              disabled={fixed}
              onChange={(event) => onChange({ required: event.target.checked })}
            />
            Required
          </label>
          {!fixed && (
            <Button look="quiet" aria-label={`Remove ${origin}`} onClick={() => onChange({ removed: true })}>
              <CrossIcon />
            </Button>
          )}
        </div>
        <TextField
          label={`Description of ${origin}`}
          className="sm:col-span-3"
          value={description}
          onChange={(next) => onChange({ description: next })}
        />
      </fieldset>
    </li>
  )
}
