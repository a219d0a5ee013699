/**
 * @module What is known to claim more than is true, by class of damage and kind of exit. It only gets shorter: a claim that is not in it fails the test, and so
 * does an entry that no round showed, but for those that do not show each time.
 */

interface Known {
  /** Why, in short. */
  readonly why: string
  readonly exits: readonly string[]
  /** Of these, those that do not show each time: it depends on what is drawn, or on which of two questions is first. */
  readonly sometimes?: readonly string[]
}

export const NOT_YET: Readonly<Record<string, Known>> = {}
