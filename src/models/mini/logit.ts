const LEAST = 1e-7

/** A share from 0 to 1 as a number that can be added to others: 0 for a half. */
export const logit = (share: number): number => Math.log(Math.max(share, LEAST) / (1 - Math.min(share, 1 - LEAST)))
