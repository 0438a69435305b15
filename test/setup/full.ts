/** Whether `npm run test:full` runs, with what takes minutes. In `npm test` a part of it stands for the rest. */
export const FULL = process.env.TOOLYARD_TEST_FULL === '1'

/** All cases in `npm run test:full`; in `npm test` one of so many, ten if nothing else is said. */
export const someOf = <Case>(cases: readonly Case[], oneOf = 10): readonly Case[] =>
  FULL ? cases : cases.filter((_, index) => index % oneOf === 0)
