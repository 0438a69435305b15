import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ModelError } from '../model-error.ts'
import type { ChatHistoryItem } from './chat-history.ts'

/** The used part of `node-llama-cpp`, an optional package without types at build time. */
export interface Engine {
  getLlama(options: {
    readonly gpu: 'auto'
    readonly build: 'never'
    readonly maxThreads?: number
    readonly logLevel: 'error'
    readonly logger: (level: string, message: string) => void
  }): Promise<Llama>
  readonly LlamaChat: new (options: { contextSequence: Sequence; chatWrapper: ChatWrapper | 'auto' }) => Chat
  readonly LlamaGrammar: new (llama: Llama, options: { grammar: string }) => Grammar
  readonly JinjaTemplateChatWrapper: new (options: {
    template: string
    tokenizer: unknown
    functionCallMessageTemplate: 'noJinja'
  }) => ChatWrapper
  readonly NoBinaryFoundError: ErrorClass
  readonly InsufficientMemoryError: ErrorClass
}

type ErrorClass = new (...args: never[]) => Error

export interface Llama {
  loadModel(options: { modelPath: string }): Promise<EngineModel>
  dispose(): Promise<void>
}

export interface EngineModel {
  readonly tokenizer: unknown
  readonly fileInfo: { readonly metadata: { readonly tokenizer?: { readonly chat_template?: string } } }
  createContext(options: { contextSize: { max: number }; batchSize: number; threads?: number }): Promise<Context>
  dispose(): Promise<void>
}

export interface Context {
  readonly contextSize: number
  getSequence(): Sequence
}

export interface Sequence {
  readonly tokenMeter: { getState(): { readonly usedOutputTokens: number } }
}

export interface ChatWrapper {
  generateContextState(options: { chatHistory: readonly ChatHistoryItem[] }): {
    readonly contextText: { tokenize(tokenizer: unknown): readonly unknown[] }
  }
}

export interface Chat {
  readonly chatWrapper: ChatWrapper
  generateResponse(
    history: readonly ChatHistoryItem[],
    options: {
      readonly signal: AbortSignal
      readonly maxTokens: number
      readonly temperature?: number
      readonly grammar?: Grammar
      readonly onTextChunk: (text: string) => void
    },
  ): Promise<{ readonly metadata: { readonly stopReason: string } }>
}

export type Grammar = object

const PACKAGE = 'node-llama-cpp'
/** With npx, the package may be in the project instead of beside Toolyard. */
const PLACES = (): string[] => [import.meta.url, pathToFileURL(join(process.cwd(), 'x.js')).href]

/** Finds the package without loading it, which takes half a second. Throws if it isn't installed. */
export function findEngine(provider: string, places: readonly string[] = PLACES()): () => Promise<Engine> {
  for (const place of places) {
    try {
      const entry = pathToFileURL(createRequire(place).resolve(PACKAGE)).href
      return () => import(entry)
    } catch {
      // Try the next place.
    }
  }
  throw new ModelError(
    `The provider ${provider} needs the package ${PACKAGE}, which is not installed: npm install ${PACKAGE}`,
  )
}
