export { type OpenManager, startManager } from './open.ts'
