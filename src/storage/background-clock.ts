export { backgroundClock } from '../core/clock.ts'
