/**
 * @module Regular expressions in time linear in the text, for patterns that come from outside: all alternatives are followed at
 * once (Thompson 1968), so that no text makes the match backtrack. ECMAScript syntax with flag `u`, without look-around and
 * back-references, which have no such bound.
 */
import { type Atom, type PatternNode, parsePattern } from './parse-pattern.ts'

/** States of one pattern: `{1,500}` counts 500 times. */
const STATES_MAX = 2_000

/** Thrown by `test` when the work given for it is used up. */
export class WorkExhausted extends Error {
  constructor() {
    super('the check takes too much work')
    this.name = 'WorkExhausted'
  }
}

/** Work that several checks share, in steps of some 10 ns. */
export interface Work {
  stepsLeft: number
}

export function spend(work: Work, steps: number): void {
  work.stepsLeft -= steps
  if (work.stepsLeft < 0) throw new WorkExhausted()
}

export interface LinearPattern {
  /** Whether the pattern occurs in the text. Throws `WorkExhausted`. */
  test(text: string): boolean
}

type State =
  | { readonly kind: 'atom'; readonly atom: Atom; readonly next: number }
  | { readonly kind: 'either'; readonly either: number; or: number }
  | { readonly kind: 'assert'; readonly assertion: '^' | '$' | '\\b' | '\\B'; readonly next: number }
  | { readonly kind: 'match' }

/** Throws `SyntaxError` for what is no pattern, or none of those taken. */
export function compilePattern(source: string, work: Work): LinearPattern {
  const states: State[] = [{ kind: 'match' }]
  const start = addNode(parsePattern(source), 0, states)
  return { test: (text) => runs({ states, start, work }, text) }
}

/** Adds a node's states in front of state `next`; answers where it starts. */
function addNode(node: PatternNode, next: number, states: State[]): number {
  switch (node.kind) {
    case 'atom':
      return addState({ kind: 'atom', atom: node.atom, next }, states)
    case 'assert':
      return addState({ kind: 'assert', assertion: node.assertion, next }, states)
    case 'sequence':
      return node.parts.reduceRight((after, part) => addNode(part, after, states), next)
    case 'either':
      return node.options
        .map((option) => addNode(option, next, states))
        .reduceRight((or, either) => addState({ kind: 'either', either, or }, states))
    case 'repeat':
      return addRepeat(node, next, states)
  }
}

function addRepeat(node: PatternNode & { kind: 'repeat' }, next: number, states: State[]): number {
  let start = next
  if (node.max === Number.POSITIVE_INFINITY) {
    // The loop's own state comes first, so that its body can lead back to it; where the body starts is known after.
    const loop: State & { kind: 'either' } = { kind: 'either', either: next, or: next }
    start = addState(loop, states)
    loop.or = addNode(node.body, start, states)
  } else {
    for (let i = node.min; i < node.max; i++) {
      start = addState({ kind: 'either', either: addNode(node.body, start, states), or: next }, states)
    }
  }
  for (let i = 0; i < node.min; i++) start = addNode(node.body, start, states)
  return start
}

function addState(state: State, states: State[]): number {
  if (states.length >= STATES_MAX) throw new SyntaxError(`a pattern of more than ${STATES_MAX} states is not taken`)
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

function runs(machine: Machine, text: string): boolean {
  // The last place at which each state was entered: a state is followed once a place, which is what bounds the time.
  const entered = new Int32Array(machine.states.length).fill(-1)
  let current: number[] = []
  for (let at = 0; ; ) {
    const here: number[] = []
    let isMatch = enter(machine, machine.start, { entered, here, place: { text, at } })
    for (const state of current) isMatch = enter(machine, state, { entered, here, place: { text, at } }) || isMatch
    if (isMatch) return true

    const code = text.codePointAt(at)
    if (code === undefined) return false
    spend(machine.work, here.length + 1)
    current = []
    for (const index of here) {
      const state = machine.states[index] as State
      if (state.kind === 'atom' && state.atom(code)) current.push(state.next)
    }
    at += code > 0xffff ? 2 : 1
  }
}

/** Follows everything that consumes no character; true where that reaches the end of the pattern. */
function enter(
  machine: Machine,
  index: number,
  to: { readonly entered: Int32Array; readonly here: number[]; readonly place: Place },
): boolean {
  if (to.entered[index] === to.place.at) return false
  to.entered[index] = to.place.at
  const state = machine.states[index] as State
  if (state.kind === 'match') return true
  if (state.kind === 'either') return enter(machine, state.either, to) || enter(machine, state.or, to)
  if (state.kind === 'assert') return stands(state.assertion, to.place) && enter(machine, state.next, to)
  to.here.push(index)
  return false
}

function stands(assertion: '^' | '$' | '\\b' | '\\B', { text, at }: Place): boolean {
  if (assertion === '^') return at === 0
  if (assertion === '$') return at === text.length
  const isBorder = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))
  return isBorder === (assertion === '\\b')
}

/** `\w` without flag `i`: ASCII only. NaN beyond the text is no word character. */
function isWord(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
}
