import { createRequire } from 'node:module'
import { extname } from 'node:path'
import type * as Underneath from './underneath.ts'

type Parts = typeof Underneath

let loaded: Parts | undefined

/** Loaded with the first use: `import 'toolyard'` must not load what a program may never need. */
function underneath(): Parts {
  loaded ??= createRequire(import.meta.url)(`./underneath${extname(import.meta.filename)}`) as Parts
  return loaded
}

/** Can be called and constructed, unlike an arrow function, and its prototype can be replaced, unlike that of a class. */
function callable(): void {}

/** Stands for a class or a function until it is used. */
function onDemand<Name extends keyof Parts>(name: Name): Parts[Name] {
  const real = () => underneath()[name] as unknown as new () => object
  const stand: object = new Proxy(callable, {
    apply: (_target, self, args) => Reflect.apply(real(), self, args),
    construct: (_target, args, called) => Reflect.construct(real(), args, called === stand ? real() : called),
    get: (_target, key) => Reflect.get(real(), key),
    has: (_target, key) => Reflect.has(real(), key),
  })
  return stand as Parts[Name]
}

export const AnthropicClient = onDemand('AnthropicClient')
export type AnthropicClient = Underneath.AnthropicClient
export const Chat = onDemand('Chat')
export type Chat = Underneath.Chat
export const ConfigError = onDemand('ConfigError')
export type ConfigError = Underneath.ConfigError
export const GeminiClient = onDemand('GeminiClient')
export type GeminiClient = Underneath.GeminiClient
export const ModelCatalogue = onDemand('ModelCatalogue')
export type ModelCatalogue = Underneath.ModelCatalogue
export const ModelValidationError = onDemand('ModelValidationError')
export type ModelValidationError = Underneath.ModelValidationError
export const ModelValidationTracker = onDemand('ModelValidationTracker')
export type ModelValidationTracker = Underneath.ModelValidationTracker
export const NoResponseRuleError = onDemand('NoResponseRuleError')
export type NoResponseRuleError = Underneath.NoResponseRuleError
export const OllamaClient = onDemand('OllamaClient')
export type OllamaClient = Underneath.OllamaClient
export const OpenAIClient = onDemand('OpenAIClient')
export type OpenAIClient = Underneath.OpenAIClient
export const ProcessPool = onDemand('ProcessPool')
export type ProcessPool = Underneath.ProcessPool
export const ProviderClient = onDemand('ProviderClient')
export type ProviderClient = Underneath.ProviderClient
export const ToolHandlers = onDemand('ToolHandlers')
export type ToolHandlers = Underneath.ToolHandlers
export const ToolLoop = onDemand('ToolLoop')
export type ToolLoop = Underneath.ToolLoop
export const ToolManager = onDemand('ToolManager')
export type ToolManager = Underneath.ToolManager
export const aiSdkModel = onDemand('aiSdkModel')
export const createLog = onDemand('createLog')
export const generateChat = onDemand('generateChat')
export const kinds = onDemand('kinds')
export const langchainModel = onDemand('langchainModel')
export const loadConfigFile = onDemand('loadConfigFile')
export const openProvider = onDemand('openProvider')
export const openTelemetryTracer = onDemand('openTelemetryTracer')
