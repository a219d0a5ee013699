/** @module Names of functions that are no names: a build makes others next time, and the record would not be found under them. */

/** One letter, with a number at most, as bundlers that shorten names make them. */
export function isMinified(name: string): boolean {
  return /^[_$]?[A-Za-z$]\d{0,3}$/.test(name)
}
