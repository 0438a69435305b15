import { Component, type ReactNode } from 'react'
import { Failed } from './states.tsx'

interface Props {
  readonly children: ReactNode
  /** The fallback; an error message by default. */
  readonly instead?: ReactNode
}

/** Limits a rendering error to this part of the page. */
export class ErrorBoundary extends Component<Props, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    if (this.props.instead !== undefined) return this.props.instead
    // After an update, old chunks are gone: reload.
    return <Failed error={error} what="this part of the page" again={() => location.reload()} />
  }
}
