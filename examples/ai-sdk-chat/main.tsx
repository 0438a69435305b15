import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, type UIMessage } from 'ai'
import { type SubmitEvent, useState } from 'react'
import { createRoot } from 'react-dom/client'

const transport = new DefaultChatTransport({ api: '/api/ai-sdk/chat' })

function Part({ part }: { part: UIMessage['parts'][number] }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'file') {
    return part.mediaType.startsWith('image/') ? <img src={part.url} alt={part.filename ?? 'Result of a tool'} /> : null
  }
  if (part.type !== 'dynamic-tool') return null
  return (
    <details>
      <summary>
        {part.toolName}: {part.state}
      </summary>
      <pre>{JSON.stringify(part.input, null, 2)}</pre>
      <pre>{part.state === 'output-error' ? part.errorText : JSON.stringify(part.output, null, 2)}</pre>
    </details>
  )
}

function Page() {
  const [text, setText] = useState('')
  const { messages, sendMessage, regenerate, stop, status, error } = useChat({ transport })
  const busy = status === 'submitted' || status === 'streaming'
  const send = (event: SubmitEvent) => {
    event.preventDefault()
    void sendMessage({ text })
    setText('')
  }
  return (
    <main>
      <h1>Chat</h1>
      {messages.map(({ id, role, parts }) => (
        <section key={id} aria-label={role}>
          <strong>{role === 'user' ? 'You' : 'Assistant'}</strong>
          {parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <label>
          Question <input value={text} onChange={(event) => setText(event.target.value)} />
        </label>{' '}
        <button type="submit" disabled={busy || text.trim() === ''}>
          Send
        </button>{' '}
        <button type="button" disabled={!busy} onClick={() => void stop()}>
          Stop
        </button>{' '}
        <button type="button" disabled={busy || messages.length === 0} onClick={() => void regenerate()}>
          Regenerate
        </button>
      </form>
    </main>
  )
}

createRoot(document.getElementById('root') as HTMLElement).render(<Page />)
