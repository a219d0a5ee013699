// Writes docs/cli.md from the built commands. `test/cli/reference.test.ts` generates it again and compares. Run after a build.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The page for a program of `src/cli/program.ts`. */
export function cliReference(program) {
  const sections = program.commands.flatMap((command) =>
    command.name() === 'audit' ? [auditSection(command)] : [section(command), ...command.commands.map(section)],
  )
  return `${INTRODUCTION}
| command | does |
|---|---|
${program.commands.map((command) => `| [\`${command.name()}\`](#${anchor(command)}) | ${command.description()} |`).join('\n')}

${sections.join('\n')}`
}

const INTRODUCTION = `# Command line

Made by \`scripts/cli-reference.mjs\` from the commands themselves. \`countersign help COMMAND\`, or \`--help\` behind any command, prints the same on a terminal.

- **Exit codes**: 0 done or verified, 1 failed or tampered, 2 wrong usage, 3 incomplete or not proven, 4 the network; \`verify\` and the other commands that report findings end with the same code even if their output is not read (\`countersign verify | head -1\`). If the code is not 0, one line on standard error says what to do.
- **JSON**: every command that answers takes \`--json\`; tables and objects are JSON anyway where the output is no terminal. The exceptions: the log of \`serve\` and the verdicts of \`validate\` are always JSON,
  an \`export\` is in its own format, and \`tour\` and \`completions\` are for people and shells.
- **Flags** are taken once, in any order; write \`--flag=value\` if a value begins with a dash. Unknown flags are refused, never ignored. Settings come from flags, then \`COUNTERSIGN_*\` variables, then
  defaults ([configuration](configuration.md)).
- **Keys**: a bundle or an export is never checked with the key file of the working directory unless \`--data\` or \`--keys\` names it; \`keys pin\` keeps the keys of other ledgers' logs in your home.
- **Shells**: \`countersign completions bash|zsh|fish\` prints a script that completes commands, flags and values.
`

const anchor = (command) => pathOf(command).replaceAll(' ', '-')
const pathOf = (command) => (command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim())

function section(command) {
  return `## ${pathOf(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`
}

/** The help as shown by a terminal of 80 columns. */
export function helpOf(command) {
  const parts = []
  command.configureOutput({ writeOut: (part) => parts.push(part), getOutHelpWidth: () => 80 })
  command.outputHelp()
  return parts.join('').trimEnd()
}

/** One table for nineteen commands that differ only in their filters. */
function auditSection(command) {
  const rows = command.commands.map((query) => {
    const flags = query.options.filter(({ helpGroupHeading }) => helpGroupHeading?.startsWith('Filters'))
    return `| \`${query.name()}\` | ${query.description()} | ${flags.map(({ long }) => `\`${long}\``).join(' ')} |`
  })
  return `${section(command)}
Each query also takes \`--as-of\`, \`--limit\`, \`--url\`, \`--token\`, \`--tenant\`, \`--json\` and the place of the store; those that list events take \`--order\`, \`spend\` takes \`--by\`, \`sample\` needs \`--seed\`.

| query | lists | filters |
|---|---|---|
${rows.join('\n')}
`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  const { createProgram } = await import(pathToFileURL(join(root, 'dist/src/cli/program.js')).href)
  writeFileSync(join(root, 'docs', 'cli.md'), cliReference(createProgram()))
}
