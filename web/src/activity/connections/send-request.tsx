import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useId, useState } from 'react'
import { Link } from 'wouter'
import type { ReadMethod } from '../../../../src/mcp/client/sent-request.ts'
import type { McpAnswer } from '../../../../src/server/http/views.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { inTime } from '../../parts/figures.ts'
import { JsonTree } from '../../parts/json-tree.tsx'
import { Chip, Note } from '../../parts/states.tsx'
import { ParamsText } from '../../tools/params-text.tsx'
import { isIncomplete, METHODS, type RequestDraft } from './request-draft.ts'

interface SendRequestProps {
  readonly server: string
  readonly draft: RequestDraft
  readonly onClose: () => void
}

const OPTIONS = Object.keys(METHODS).map((value) => ({ value, label: value }))

/** A form for one request to an MCP server. The answer is shown beside the recorded one. */
export function SendRequest({ server, draft, onClose }: SendRequestProps) {
  const ids = useId()
  const client = useQueryClient()
  const [method, setMethod] = useState<ReadMethod>(draft.method)
  const [params, setParams] = useState(draft.params)
  const [readable, setReadable] = useState(true)
  const readableNow = useCallback((is: boolean) => setReadable(is), [])
  const send = useMutation({
    mutationFn: () =>
      requestJson<McpAnswer>(`/api/mcp/servers/${encodeURIComponent(server)}/requests`, {
        method: 'POST',
        body: { method, params },
      }),
    onSettled: () => client.invalidateQueries({ queryKey: ['mcp-traffic', server] }),
  })
  const { before } = draft
  return (
    <section aria-labelledby={`${ids}title`} className="panel grid grid-cols-1 gap-3 p-4">
      <div className="flex flex-wrap items-center gap-3">
        <h3 id={`${ids}title`} className="mr-auto font-medium">
          {before === undefined ? 'Send a request' : 'Send again'}
        </h3>
        <div className="w-64 max-sm:w-full">
          <Choice
            label="Method to send"
            value={method}
            options={OPTIONS}
            onChange={(value) => {
              setMethod(value as ReadMethod)
              setParams(METHODS[value as ReadMethod])
            }}
          />
        </div>
      </div>
      <p className="text-sm text-muted">
        Methods that only read. To call a tool, open its page in{' '}
        <Link href="/" className="underline underline-offset-2">
          Tools
        </Link>
        .
      </p>
      <div className="grid grid-cols-1">
        <span id={`${ids}params`} className="mb-1 text-sm font-medium">
          Parameters (JSON)
        </span>
        <ParamsText params={params} onParams={setParams} onReadable={readableNow} labelledBy={`${ids}params`} />
      </div>
      {isIncomplete(params) && (
        <Note tone="warn">Secrets and long texts were removed from the recorded parameters: enter them again.</Note>
      )}
      <div className="flex flex-wrap gap-2">
        <Button look="main" disabled={!readable || send.isPending} onClick={() => send.mutate()}>
          {send.isPending ? 'Sending …' : 'Send'}
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
      {send.error && (
        <Note tone="bad" role="alert">
          {send.error.message}
        </Note>
      )}
      {(before?.content !== undefined || send.data !== undefined) && (
        <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
          {before?.content !== undefined && (
            <Answer title="Recorded answer" value={before.content} ms={before.ms} failed={before.kind === 'error'} />
          )}
          {send.data !== undefined && (
            <Answer
              title="New answer"
              value={send.data.error ?? send.data.result}
              ms={send.data.ms}
              failed={send.data.error !== undefined}
              shortened={send.data.shortened}
            />
          )}
        </div>
      )}
    </section>
  )
}

interface AnswerProps {
  readonly title: string
  readonly value: unknown
  readonly ms: number | undefined
  readonly failed: boolean
  readonly shortened?: boolean | undefined
}

const Answer = ({ title, value, ms, failed, shortened = false }: AnswerProps) => (
  <section aria-label={title} className="grid min-w-0 content-start gap-2">
    <div className="flex flex-wrap items-center gap-2 text-sm">
      <h4 className="font-medium">{title}</h4>
      <Chip tone={failed ? 'bad' : 'good'}>{failed ? 'error' : 'result'}</Chip>
      {ms !== undefined && <span className="text-muted tabular-nums">{inTime(ms)}</span>}
      <span className="ml-auto">
        <CopyButton text={JSON.stringify(value, null, 2) ?? ''} look="quiet" />
      </span>
    </div>
    <div className="max-h-96 overflow-auto rounded-lg bg-sunk px-3 py-2">
      <JsonTree value={value} label={title} />
    </div>
    {shortened && <p className="text-sm text-muted">A part of it was too long and is not shown.</p>}
  </section>
)
