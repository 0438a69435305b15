// Written out here: an isolated handler reads its own folder and packages, nothing beside them.
const WEATHER = { temperature: 22, condition: 'sunny', humidity: 65 }

/** What the isolated contender runs. */
export const weather = async () => WEATHER

/** Never gives the processor back: only ending its process stops it. */
export function loopForEver(): never {
  for (;;);
}
