import { Component, type ReactNode } from 'react'
import { Failed } from './states.tsx'

interface Props {
  readonly children: ReactNode
  /** What to show instead; by default that the page failed. */
  readonly instead?: ReactNode
}

/** Keeps what cannot be shown from taking the whole page with it. */
export class ErrorBoundary extends Component<Props, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    if (this.props.instead !== undefined) return this.props.instead
    // A part of the page that is no longer there after an update comes with a new load.
    return <Failed error={error} what="this part of the page" again={() => location.reload()} />
  }
}
