import type {
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/server'
import type { CallContext } from '../../core/call-context.ts'

/** Resources and prompts that are served beside the tools: those of the servers that we are a client of. */
export interface Library {
  listResources(context: CallContext): Promise<readonly Resource[]>
  listResourceTemplates(context: CallContext): Promise<readonly ResourceTemplateType[]>
  /** Undefined where there is none of that address. */
  readResource(uri: string, context: CallContext): Promise<ReadResourceResult | undefined>
  listPrompts(context: CallContext): Promise<readonly Prompt[]>
  /** Undefined where there is none of that name. */
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<GetPromptResult | undefined>
  /** Calls back when one of the lists has changed; gives the way to stop that. */
  onChange?(listener: (what: 'resources' | 'prompts') => void): () => void
}
