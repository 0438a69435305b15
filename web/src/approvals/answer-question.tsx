import { Suspense, useCallback, useId, useState } from 'react'
import { announce } from '../parts/announce.tsx'
import { Button } from '../parts/button.tsx'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { lazyPart } from '../parts/lazy-part.ts'
import { Loading, Note } from '../parts/states.tsx'
import { ParamsText } from '../tools/params-text.tsx'
import { useDecision } from './approval-queries.ts'
import { type AskedQuestion, answerSchema, firstAnswer, questionText, samplingMessages } from './question.ts'

const ParamsForm = lazyPart(async () => (await import('../tools/form/params-form.tsx')).ParamsForm)

/** What an MCP server asks during a call, with a form for the answer. */
export function AnswerQuestion({ asked }: { readonly asked: AskedQuestion }) {
  const { id, question, refused, params } = asked
  const [answer, setAnswer] = useState(() => firstAnswer(asked))
  const [readable, setReadable] = useState(true)
  const { mutate, isPending, error } = useDecision(id, {
    onSuccess: ({ status }) => announce(status === 'approved' ? 'The answer was sent.' : 'The question was declined.'),
  })
  const isEmpty = question.kind === 'sampling' && answer.text === ''
  return (
    <div className="mt-4 grid gap-4">
      {question.kind === 'elicitation' ? (
        <Elicitation asked={asked} answer={answer} onAnswer={setAnswer} onReadable={setReadable} />
      ) : (
        <Sampling params={params} answer={answer} onAnswer={setAnswer} />
      )}
      <div className="flex flex-wrap items-center gap-3">
        <Button
          look="main"
          disabled={isPending || refused !== null || !readable || isEmpty}
          onClick={() => mutate({ decision: 'approve', params: answer })}
        >
          Send the answer
        </Button>
        <Button look="danger" disabled={isPending || refused !== null} onClick={() => mutate({ decision: 'reject' })}>
          Decline
        </Button>
        {refused !== null && <span className="text-sm text-muted">{refused}</span>}
      </div>
      {error !== null && (
        <Note tone="bad" role="alert">
          {error.message}
        </Note>
      )}
    </div>
  )
}

interface AnswerProps {
  readonly answer: Record<string, unknown>
  readonly onAnswer: (answer: Record<string, unknown>) => void
}

interface ElicitationProps extends AnswerProps {
  readonly asked: AskedQuestion
  readonly onReadable: (readable: boolean) => void
}

function Elicitation({ asked, answer, onAnswer, onReadable }: ElicitationProps) {
  const ids = useId()
  const readable = useCallback((is: boolean) => onReadable(is), [onReadable])
  const schema = answerSchema(asked.params.requestedSchema)
  return (
    <>
      <Note>
        <p className="whitespace-pre-line">{questionText(asked)}</p>
        <p className="mt-1 text-muted">The answer goes to this MCP server. Don’t enter passwords or keys.</p>
      </Note>
      <div className="grid gap-4 md:grid-cols-2">
        <div className="panel min-w-0 p-4">
          <h2 className="mb-3 text-sm font-medium text-muted">Your answer</h2>
          <ErrorBoundary instead={<Note tone="warn">This schema has no form. Enter the answer as JSON.</Note>}>
            <Suspense fallback={<Loading what="the form" />}>
              <ParamsForm schema={schema} params={answer} onParams={onAnswer} problems={[]} />
            </Suspense>
          </ErrorBoundary>
        </div>
        <div className="panel flex min-w-0 flex-col p-4">
          <h2 id={`${ids}json`} className="mb-3 text-sm font-medium text-muted">
            Your answer as JSON
          </h2>
          <ParamsText params={answer} onParams={onAnswer} onReadable={readable} labelledBy={`${ids}json`} />
        </div>
      </div>
    </>
  )
}

function Sampling({ params, answer, onAnswer }: AnswerProps & Pick<AskedQuestion, 'params'>) {
  const id = useId()
  const { messages: _messages, systemPrompt: _system, ...settings } = params
  return (
    <>
      <Note>The server wants an answer of a model. You answer in its place.</Note>
      <ol aria-label="Messages" className="panel grid gap-3 p-4">
        {samplingMessages(params).map(({ role, text }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages may repeat, and never move.
          <li key={index} className="grid gap-0.5">
            <span className="text-xs font-medium text-muted">{role}</span>
            <span className="whitespace-pre-wrap wrap-anywhere">{text}</span>
          </li>
        ))}
      </ol>
      {Object.keys(settings).length > 0 && (
        <details>
          <summary className="text-sm font-medium">Settings of the request</summary>
          <div className="panel mt-2 p-3">
            <JsonTree value={settings} label="Settings of the request" />
          </div>
        </details>
      )}
      <div className="grid gap-1">
        <label htmlFor={id} className="text-sm font-medium">
          Your answer
        </label>
        <textarea
          id={id}
          rows={5}
          maxLength={16_000}
          className="field field-sizing-content max-h-96 min-h-28"
          value={String(answer.text ?? '')}
          onChange={(event) => onAnswer({ text: event.target.value })}
        />
      </div>
    </>
  )
}
