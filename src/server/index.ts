export * from '../underneath.ts'
export { type ServeOptions, serve } from './serve.ts'
