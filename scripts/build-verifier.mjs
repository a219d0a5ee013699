// Builds verify.mjs, the verifier in every evidence bundle, from the modules in src/verify/bundle and those that they import: one file to read and to run,
// without dependencies. Types are stripped, the modules are joined, each after those that it imports, and the result is formatted; comments are kept. The
// same sources yield the same bytes on every version of Node.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const PROGRAM = join(ROOT, 'src', 'verify', 'bundle', 'program.ts')
/** The expression with which a module locates the built file, and the one with which the built file locates itself. */
const BESIDE = "new URL('./verify.mjs', import.meta.url)"
const ITSELF = 'new URL(import.meta.url)'

// The sources are formatted, so that every statement begins at the start of a line.
const TYPE_IMPORT = /^import type [^']*'[^']+'\n/gm
/** Includes its comment, which would otherwise become the comment of the next statement. */
const TYPE =
  /^(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?(?:export )?(?:interface .*\{\n(?: .*\n|\n)*\}|type .*(?:\n[ }].*)*)\n/gm
const IMPORT = /^import ([^']*) from '([^']+)'\n/gm
const NAMES = /^(?:\* as \w+|\{(?!.*\w\s+\w)[\w\s,]*\})$/s
const OTHER_FORM = /^(?:import\b(?!\.)|export (?!const|function|class|async|let)).*/m
const DECLARED = /^(?:export )?(?:async )?(?:function\*?|class|const|let) (?:(\w+)|\[([^\]]*)\]|\{([^}]*)\})/gm
/** The border between a statement and the next one with its comment. */
const BORDER =
  /\n(?=(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)(?:export|async|function|class|const|let|for|if)\b|(?<!\*\/\n)(?:export|async|function|class|const|let|for|if)\b)/
const COMMENT_LINE = /^ *(?:\/\/|\/?\*).*$/gm

/** The text of verify.mjs. */
export function verifierText(program = PROGRAM) {
  const modules = [...modulesFrom(program).values()]
  checkNames(modules)
  const [head] = /^#!.*\n\/\*\*[\s\S]*?\*\/\n/.exec(modules.at(-1).body) ?? []
  if (head === undefined)
    fail(`${modules.at(-1).place} must begin with #! and a comment that says what the verifier is`)
  const parts = withoutUnused(modules).map(({ place, body }) => {
    const plain = body
      .replace(head, '')
      .replace(/^export /gm, '')
      .trim()
    const described = plain.replace(/^\/\*\* @module /, `/* ${place}: `)
    return described === plain ? `// ${place}\n${plain}` : described
  })
  const text = [head + builtinImports(modules), ...parts].join('\n\n')
  if (text.split(BESIDE).length > 2) fail(`${BESIDE} can be in the sources of the verifier once`)
  return formatted(`${text.replace(BESIDE, ITSELF)}\n`)
}

/** Modules by path, each after those that it imports. */
function modulesFrom(path, found = new Map()) {
  if (found.has(path)) return found
  const module = readModule(path)
  for (const each of module.imports) modulesFrom(each, found)
  return found.set(path, module)
}

/** `imports`: paths of other modules; `builtins`: imports of Node's own modules. */
function readModule(path) {
  const place = relative(ROOT, path).replaceAll(sep, '/')
  const [imports, builtins] = [[], []]
  const source = readFileSync(path, 'utf8').replace(TYPE_IMPORT, '').replace(TYPE, '')
  const body = stripped(source).replace(IMPORT, (whole, names, from) => {
    if (!NAMES.test(names)) fail(`${place}: ${whole.trim()}: names stay as they are, and none is a default`)
    if (from.startsWith('node:')) builtins.push({ names, from })
    else if (from.startsWith('.')) imports.push(resolve(dirname(path), from))
    else fail(`${place} imports ${from}: the verifier needs nothing but Node`)
    return ''
  })
  const other = OTHER_FORM.exec(body)
  if (other !== null) fail(`${place}: ${other[0]}: a form that modules of the verifier do not take`)
  return { place, imports, builtins, body }
}

/** Suppresses Node's warning that the function is experimental; its output is tested. */
function stripped(source) {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source, { mode: 'strip' })
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Fails if two modules declare the same name, which one file cannot contain. */
function checkNames(modules) {
  const places = new Map(
    modules.flatMap(({ builtins }) => builtins.flatMap(namesOf)).map((name) => [name, 'an import from Node']),
  )
  for (const { place, body } of modules)
    for (const name of declaredIn(body)) {
      if (places.has(name)) fail(`${name} is declared in ${places.get(name)} and in ${place}: rename one of them`)
      places.set(name, place)
    }
}

const namesOf = ({ names }) => names.replace('* as ', '').match(/\w+/g) ?? []
const declaredIn = (body) =>
  [...body.matchAll(DECLARED)].flatMap(([, name, list, members]) => name ?? (list ?? members).match(/\w+/g))

/** Removes unused declarations: a shared module may contain more than the verifier needs. Keeps what is reachable from statements that are no declarations. */
function withoutUnused(modules) {
  const pieces = modules.flatMap((module) =>
    module.body.split(BORDER).map((text) => ({ module, text, names: declaredIn(text), words: wordsIn(text) })),
  )
  const reached = new Set(pieces.filter(({ names }) => names.length === 0))
  for (const { words } of reached)
    for (const piece of pieces) if (piece.names.some((name) => words.has(name))) reached.add(piece)
  const bodyOf = (module) => pieces.filter((piece) => piece.module === module && reached.has(piece))
  return modules.map((module) => ({
    ...module,
    body: bodyOf(module)
      .map(({ text }) => text)
      .join('\n'),
  }))
}

const wordsIn = (text) => new Set(text.replace(COMMENT_LINE, '').match(/\w+/g))

function builtinImports(modules) {
  const builtins = modules.flatMap((module) => module.builtins)
  const lines = [...new Set(builtins.map(({ from }) => from))].sort().flatMap((from) => {
    const names = builtins.filter((each) => each.from === from)
    const whole = names
      .filter((each) => each.names.startsWith('*'))
      .map((each) => `import ${each.names} from '${from}'`)
    const single = [...new Set(names.filter((each) => each.names.startsWith('{')).flatMap(namesOf))].sort()
    return [...new Set(whole), ...(single.length === 0 ? [] : [`import { ${single.join(', ')} } from '${from}'`])]
  })
  return lines.join('\n')
}

/** Formatted like the sources, with exactly this configuration, so that the bytes are the same in an image and in a folder without Git. */
function formatted(text) {
  const biome = join(ROOT, 'node_modules', '.bin', process.platform === 'win32' ? 'biome.cmd' : 'biome')
  const options = { cwd: ROOT, input: text, encoding: 'utf8', maxBuffer: 2 ** 24, shell: process.platform === 'win32' }
  const how = [`--config-path=${join(ROOT, 'biome.json')}`, '--vcs-enabled=false', '--stdin-file-path=verify.mjs']
  const { status, stdout, stderr } = spawnSync(biome, ['format', ...how], options)
  if (status !== 0) fail(`it cannot be formatted: ${stderr}`)
  return stdout
}

function fail(message) {
  throw new Error(`verify.mjs cannot be built: ${message}`)
}

export function buildVerifier(file) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, verifierText())
}

// `node scripts/build-verifier.mjs` prints the verifier.
if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(verifierText())
