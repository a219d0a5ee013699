/** @module Detects minified function names: the next build changes them, and recorded calls would not be found. */

/** One letter, optionally followed by up to three digits, as minifiers generate. */
export function isMinified(name: string): boolean {
  return /^[_$]?[A-Za-z$]\d{0,3}$/.test(name)
}
