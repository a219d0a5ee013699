/** @module Whether a string is Unicode text: no half of a surrogate pair. */

/** ES2024; Node 20 has it, the library types of ES2023 do not name it. */
interface WellFormed {
  isWellFormed(): boolean
}

export function isWellFormed(text: string): boolean {
  return (text as string & WellFormed).isWellFormed()
}
