// Writes docs/events.md and docs/events.schema.json from the built catalogue of events. `test/event-reference.test.ts` generates both again and compares. Run
// after a build.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'

/** Texts of the files, by their paths below the repository. */
export function eventReference({ EVENTS, LEDGER_EVENTS }) {
  const schema = z.object(Object.fromEntries(Object.entries(EVENTS).map(([type, { schema }]) => [type, schema])))
  const { properties } = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'output' })
  const document = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Bodies of Countersign events, by type',
    $defs: properties,
  }
  const sections = Object.entries(EVENTS).map(([type, declared]) =>
    section(type, declared, properties[type], Object.hasOwn(LEDGER_EVENTS, type) ? 'the ledger' : 'a run'),
  )
  return {
    'docs/events.md': `${INTRODUCTION}\n${sections.join('\n')}`,
    'docs/events.schema.json': `${lineByLine(document)}\n`,
  }
}

const INTRODUCTION = `# Events

Every event type, its body and its rating. This page and [events.schema.json](events.schema.json) (JSON Schema 2020-12, the bodies below \`$defs\`) are made of the catalogue
in \`schemas/events/\` by \`scripts/event-reference.mjs\`; the header around a body is in [spec/record.md](spec/record.md).

**Stability.** The body of a published type never changes its meaning, and no member of it goes away: a new meaning is a new type or a new \`v\`. Every type here is published; members may
be added as optional ones, so readers must pass over members that they do not know. Units stand in names: \`Ms\` milliseconds, \`Bytes\` bytes; \`tokens\` are counts; \`cost\` is a decimal
string in units of \`currency\` (ISO 4217); a \`time\` or \`...Until\` is RFC 3339 in UTC; a digest is \`sha256:\` and 64 hex digits.
`

function section(type, declared, schema, stream) {
  const { label, family, activity, rating, facts, rules, announced, changes } = declared
  const rated =
    typeof rating === 'function'
      ? 'as the body decides'
      : `verdict ${rating.verdict ?? 'none'}, outcome ${rating.outcome}, severity ${rating.severity}`
  const changed = Object.entries(changes).map(([what, to]) => (to === true ? what : `${what}: ${to}`))
  const required = new Set(schema.required)
  const rows = Object.entries(schema.properties).map(
    ([name, member]) =>
      `| \`${name}\` | ${cell(typeOf(member))} | ${required.has(name) ? 'yes' : 'no'} | ${cell(limitsOf(name, member))} |`,
  )
  return `## ${type}

${label}. In the stream of ${stream}; family \`${family}\`, activity \`${activity}\`.

- Rating: ${rated}${rules === undefined ? '' : `; rules: ${typeof rules === 'string' ? `of \`${rules}\`` : rules.join(', ')}`}.
- Auditors find it by: ${facts.length === 0 ? 'the header alone' : facts.join(', ')}.
- Changes: ${changed.length === 0 ? 'nothing' : changed.join(', ')}.${announced === undefined ? '' : `\n- Announced to webhooks as: \`${announced.as}\`, with ${announced.members.map((name) => `\`${name}\``).join(', ')}.`}

| member | type | required | unit or limit |
|---|---|---|---|
${rows.join('\n')}
`
}

function typeOf(member) {
  if (member.const !== undefined) return `\`${JSON.stringify(member.const)}\``
  if (member.enum !== undefined) return member.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  const choices = member.anyOf ?? member.oneOf
  if (choices !== undefined) return choices.map(typeOf).join(' or ')
  if (member.type === 'array') return `list of ${typeOf(member.items ?? {})}`
  if (member.type !== 'object') return member.type ?? 'any JSON value'
  const names = Object.keys(member.properties ?? {})
  if (names.length > 0) return `object of ${names.map((name) => `\`${name}\``).join(', ')}`
  return member.additionalProperties?.type === undefined
    ? 'object'
    : `object of ${typeOf(member.additionalProperties)} by name`
}

const UNITS = [
  [/Ms$/, 'milliseconds'],
  [/[bB]ytes$/, 'bytes'],
  [/[tT]okens$/, 'tokens'],
  [/^cost$/, 'units of `currency`'],
  [/(Until|^time|^since|^until)$/, 'RFC 3339, UTC'],
]

function limitsOf(name, { format, minLength, maxLength, minimum, maximum, maxItems }) {
  const unit = UNITS.find(([pattern]) => pattern.test(name))?.[1]
  const parts = [
    unit,
    format,
    minLength > 0 && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    minimum > Number.MIN_SAFE_INTEGER && `at least ${minimum}`,
    maximum < Number.MAX_SAFE_INTEGER && `at most ${maximum}`,
    maxItems !== undefined && `at most ${maxItems} members`,
  ]
  return parts.filter((part) => typeof part === 'string').join(', ')
}

function cell(text) {
  return String(text).replaceAll('|', '\\|')
}

const OWN = fileURLToPath(import.meta.url)
if (process.argv[1] === OWN) {
  const root = dirname(dirname(OWN))
  const catalogue = await import(pathToFileURL(join(root, 'dist', 'schemas', 'events.js')).href)
  for (const [file, text] of Object.entries(eventReference(catalogue))) writeFileSync(join(root, file), text)
}

/** JSON with a line for each definition: short, and a change of one is a change of its line. */
function lineByLine({ $defs, ...document }) {
  const members = Object.entries(document).map(([name, value]) => ` ${JSON.stringify(name)}: ${JSON.stringify(value)},`)
  const definitions = Object.entries($defs).map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  )
  return ['{', ...members, ' "$defs": {', definitions.join(',\n'), ' }', '}'].join('\n')
}
