/** @module The members of each command's body: values of the caller, which can be redacted, and names, by which records are found. */
import type { Command } from '../../../schemas/commands.ts'

export interface ValueMember {
  /** Path in the body; `*` matches each member of a list. */
  readonly path: readonly string[]
  /** Required form after redaction. `object`: an object, whatever its place declares; `text`: a text of at most `maxChars` characters. */
  readonly form: 'any' | 'object' | 'text'
  readonly maxChars?: number
  /** Path of the member in the event, if it differs. */
  readonly as?: readonly string[]
}

export interface Members {
  readonly values: readonly ValueMember[]
  /** Members whose texts, at any depth, are names; a path leads to one member. */
  readonly names: readonly string[]
}

const any = (name: string): ValueMember => ({ path: [name], form: 'any' })
const object = (name: string): ValueMember => ({ path: [name], form: 'object' })
const text = (path: string, maxChars: number, as?: string): ValueMember => ({
  path: path.split('/'),
  form: 'text',
  maxChars,
  ...(as !== undefined && { as: as.split('/') }),
})

/** Maximum lengths in characters, equal to those in the schemas of the requests. */
const REASON_MAX = 4096
const SHORT_REASON_MAX = 1024
const MESSAGE_MAX = 16_384
const NAME_MAX = 256
const LEFT_MAX = 2000
const FINDING_MAX = 2048

const failure = (name: string): ValueMember[] => [
  text(`${name}/message`, MESSAGE_MAX, 'error/message'),
  text(`${name}/code`, NAME_MAX, 'error/code'),
  { path: [name, 'details'], form: 'any', as: ['error', 'details'] },
]
const SUPERSEDES = [text('supersedes/*/reason', REASON_MAX), text('supersedes/*/path', REASON_MAX)]
const PLACE = ['scope', 'group', 'agent']
const NONE: Members = { values: [], names: PLACE }
/** The texts of `usage` and `reserve`; their other members are numbers. */
const modelOf = (member: string): string[] => [`${member}/agent`, `${member}/provider`, `${member}/model`]

export const COMMAND_MEMBERS: { readonly [K in Command['kind']]: Members } = {
  start: { values: [any('input')], names: ['id', 'name', 'tags'] },
  envelope: { values: [object('payload'), object('add'), ...SUPERSEDES], names: [...PLACE, 'moves'] },
  judgement: {
    values: [
      text('reason', SHORT_REASON_MAX),
      text('findings/*/message', FINDING_MAX),
      text('findings/*/path', REASON_MAX),
    ],
    names: ['judge', 'model'],
  },
  review: { values: [text('reason', REASON_MAX)], names: ['suspects'] },
  rollback: { values: [text('reason', REASON_MAX)], names: PLACE },
  manifest: { values: [], names: [...PLACE, 'reads', 'writes', 'task', 'schema', 'policy', 'moves'] },
  claim: { values: [any('args')], names: [...PLACE, 'tool', 'key', 'compensate', 'approve', ...modelOf('reserve')] },
  settle: {
    values: [
      any('result'),
      ...failure('error'),
      text('unknown/reason', SHORT_REASON_MAX, 'reason'),
      text('unrecorded/reason', SHORT_REASON_MAX),
    ],
    names: modelOf('usage'),
  },
  renew: NONE,
  resolve: { values: [any('result'), any('evidence')], names: [] },
  grant: { values: [text('comment', REASON_MAX)], names: [] },
  deny: { values: [text('comment', REASON_MAX)], names: [] },
  withdraw: { values: [text('comment', REASON_MAX)], names: [] },
  wait: { values: [], names: [...PLACE, 'name', 'schema'] },
  signal: { values: [any('payload')], names: [] },
  compensate: { values: [text('reason', REASON_MAX)], names: PLACE },
  reserve: { values: [], names: [...PLACE, 'provider', 'model'] },
  'settle-reservation': { values: [], names: modelOf('usage') },
  release: { values: [text('reason', SHORT_REASON_MAX)], names: [] },
  usage: { values: [], names: [...PLACE, ...modelOf('usage')] },
  fork: { values: [], names: [...PLACE, 'branches'] },
  branch: {
    values: [
      { ...object('output'), as: ['payload'] },
      object('add'),
      ...failure('error'),
      ...failure('refused'),
      text('aborted/reason', SHORT_REASON_MAX, 'error/message'),
      ...SUPERSEDES,
    ],
    names: [...PLACE, 'branch', 'moves'],
  },
  join: NONE,
  capture: { values: [], names: ['gap/server', 'definitions/server', 'definitions/tools'] },
  complete: { values: [any('output')], names: [] },
  leave: { values: [text('error/message', LEFT_MAX)], names: [] },
  carry: NONE,
  fail: { values: failure('error'), names: [] },
}
