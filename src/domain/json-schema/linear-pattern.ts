/**
 * @module Regular expressions for patterns from callers, in time linear in the text: all alternatives are followed in parallel (Thompson
 * 1968), so that no text makes the match backtrack. ECMAScript syntax with flag `u`, without look-around and back-references, which have
 * no linear bound.
 */
import { finish, Pauses, type Yielding } from '../yielding.ts'
import { type Atom, type Atoms, type PatternNode, parsePattern } from './parse-pattern.ts'
import { spend, type Work } from './work.ts'

/** Maximum number of states of one pattern; `{1,500}` counts 500 times. */
const STATES_MAX = 2_000
/** Steps for creating one state, in time and memory. */
const STATE_STEPS = 30
/** Fixed steps of a search, before the first character. */
const TEXT_STEPS = 10
/** Pattern steps per step counted between pauses. */
const STEPS_A_PAUSE_STEP = 4
/** States initialised for one text per step. */
const STATES_READY_A_STEP = 16

export interface LinearPattern {
  /** Whether the pattern occurs in the text. Throws `WorkExhausted`. */
  test(text: string, work: Work): boolean
  /** The same as `test`, with pauses. */
  search(text: string, work: Work, pauses: Pauses): Yielding<boolean>
}

type State =
  | { readonly kind: 'atom'; readonly atom: Atom; readonly next: number }
  | { readonly kind: 'either'; readonly either: number; or: number }
  | { readonly kind: 'assert'; readonly assertion: '^' | '$' | '\\b' | '\\B'; readonly next: number }
  | { readonly kind: 'match' }

interface Building {
  readonly states: State[]
  readonly work: Work
}

/**
 * Throws `SyntaxError` for an invalid or unsupported pattern, and `WorkExhausted` if compiling it takes more than `work`. Patterns that
 * are compiled with the same `atoms` share them.
 */
export function compilePattern(source: string, work: Work, atoms: Atoms = new Map()): LinearPattern {
  const states: State[] = [{ kind: 'match' }]
  const start = addNode(parsePattern(source, { work, atoms }), 0, { states, work })
  const search: LinearPattern['search'] = (text, forText, pauses) =>
    runs({ states, start, work: forText }, text, pauses)
  return { search, test: (text, forText) => finish(search(text, forText, new Pauses())) }
}

/** Adds a node's states in front of state `next`; returns the index of its first state. */
function addNode(node: PatternNode, next: number, to: Building): number {
  // Counted even if the node adds no state: `(?:){1000000}` repeats an empty group a million times.
  spend(to.work, 1)
  switch (node.kind) {
    case 'atom':
      return addState({ kind: 'atom', atom: node.atom, next }, to)
    case 'assert':
      return addState({ kind: 'assert', assertion: node.assertion, next }, to)
    case 'sequence':
      return node.parts.reduceRight((after, part) => addNode(part, after, to), next)
    case 'either':
      return node.options
        .map((option) => addNode(option, next, to))
        .reduceRight((or, either) => addState({ kind: 'either', either, or }, to))
    case 'repeat':
      return addRepeat(node, next, to)
  }
}

function addRepeat(node: PatternNode & { kind: 'repeat' }, next: number, to: Building): number {
  let start = next
  if (node.max === Number.POSITIVE_INFINITY) {
    // The loop state is added first, so that its body can lead back to it; its `or` branch is set once the start of the body is known.
    const loop: State & { kind: 'either' } = { kind: 'either', either: next, or: next }
    start = addState(loop, to)
    loop.or = addNode(node.body, start, to)
  } else {
    for (let i = node.min; i < node.max; i++) {
      start = addState({ kind: 'either', either: addNode(node.body, start, to), or: next }, to)
    }
  }
  for (let i = 0; i < node.min; i++) start = addNode(node.body, start, to)
  return start
}

function addState(state: State, { states, work }: Building): number {
  if (states.length >= STATES_MAX) throw new SyntaxError(`a pattern of more than ${STATES_MAX} states is not taken`)
  spend(work, STATE_STEPS)
  return states.push(state) - 1
}

interface Machine {
  readonly states: readonly State[]
  readonly start: number
  readonly work: Work
}

interface Place {
  readonly text: string
  readonly at: number
}

function* runs(machine: Machine, text: string, pauses: Pauses): Yielding<boolean> {
  const ready = TEXT_STEPS + machine.states.length / STATES_READY_A_STEP
  spend(machine.work, ready)
  pauses.count(ready / STEPS_A_PAUSE_STEP)
  // The last position at which each state was entered: a state is followed once per position, which bounds the time.
  const entered = new Int32Array(machine.states.length).fill(-1)
  let current: number[] = []
  for (let at = 0; ; ) {
    const to: Following = { entered, here: [], place: { text, at }, followed: 0 }
    let isMatch = follow(machine, machine.start, to)
    for (const state of current) isMatch = follow(machine, state, to) || isMatch
    if (isMatch) return true

    const code = text.codePointAt(at)
    if (code === undefined) return false
    spend(machine.work, to.followed)
    pauses.count(to.followed / STEPS_A_PAUSE_STEP)
    if (pauses.due()) yield
    current = []
    for (const index of to.here) {
      const state = machine.states[index] as State
      if (state.kind === 'atom' && state.atom(code)) current.push(state.next)
    }
    at += code > 0xffff ? 2 : 1
  }
}

interface Following {
  readonly entered: Int32Array
  readonly here: number[]
  readonly place: Place
  followed: number
}

/** Follows all transitions that consume no character; returns true if they reach the end of the pattern. */
function follow(machine: Machine, index: number, to: Following): boolean {
  to.followed += 1
  if (to.entered[index] === to.place.at) return false
  to.entered[index] = to.place.at
  const state = machine.states[index] as State
  if (state.kind === 'match') return true
  if (state.kind === 'either') return follow(machine, state.either, to) || follow(machine, state.or, to)
  if (state.kind === 'assert') return holdsAt(state.assertion, to.place) && follow(machine, state.next, to)
  to.here.push(index)
  return false
}

function holdsAt(assertion: '^' | '$' | '\\b' | '\\B', { text, at }: Place): boolean {
  if (assertion === '^') return at === 0
  if (assertion === '$') return at === text.length
  const isBorder = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))
  return isBorder === (assertion === '\\b')
}

/** `\w` without flag `i`: ASCII only. The code is NaN outside the text, which is no word character. */
function isWord(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
}
