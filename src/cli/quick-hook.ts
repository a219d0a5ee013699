/**
 * @module The arguments of `countersign hook --url`, read without the definitions of the other commands and settings: a coding agent runs this for each of its
 * calls, and waits for it.
 */
import type { Arguments } from './arguments.ts'

/** Flags of the hook that need no setting. */
export const QUICK_FLAGS = [
  'run',
  'agent',
  'effects',
  'within',
  'when-ledger-is-away',
  'state',
  'url',
  'token',
] as const

const CHOICES: Readonly<Record<string, readonly string[]>> = { 'when-ledger-is-away': ['refuse', 'pass'] }
const TOKEN = 'COUNTERSIGN_TOKEN'

/** Undefined for everything that the whole command line has to read or to refuse. */
export function quickHook(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Arguments | undefined {
  if (Object.keys(env).some((name) => name.startsWith('COUNTERSIGN_') && name !== TOKEN)) return undefined
  const flags = new Map<string, string>()
  for (let at = 0; at < words.length; at += 2) {
    const [word = '', value] = [words[at], words[at + 1]]
    const name = QUICK_FLAGS.find((flag) => word === `--${flag}`)
    if (name === undefined || value === undefined || value.startsWith('-') || flags.has(name)) return undefined
    if (CHOICES[name]?.includes(value) === false) return undefined
    flags.set(name, value)
  }
  if (!flags.has('url')) return undefined
  return {
    text: (name) => flags.get(name),
    has: () => false,
    positionals: [],
    get settings(): never {
      throw new Error('a hook with --url has no settings')
    },
  }
}
