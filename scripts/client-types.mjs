// Writes the type declarations of the client package: the declarations that its entries reach, as written by the compiler, but with the types that zod infers
// written out, so that no schema library has to be installed. One file per entry, and one for the schemas that both use: the compiler's 75 files would make
// the package a twentieth larger.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { pathToFileURL } from 'node:url'

const IMPORT = /^(import|export) (type )?\{([^}]*)\}(?: from '([^']+)')?/
const WHOLE = /^export \* from '([^']+)'/
const DECLARED =
  /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|let)\s+([A-Za-z_$][\w$]*)/m
const WORD = /[A-Za-z_$][\w$]*/g
/** The file with the declarations that the entries share. */
const SCHEMAS = 'schemas'

/** `entries`: for the name of each file to write, its module as a path below `dist` without extension. */
export async function writeClientTypes({ dist, out, entries }) {
  const modules = new Map()
  const moduleAt = (path) => {
    if (!modules.has(path))
      modules.set(path, parseModule(path, forReaders(readFileSync(join(dist, `${path}.d.ts`), 'utf8'))))
    return modules.get(path)
  }
  for (const entry of Object.values(entries)) {
    const module = moduleAt(entry)
    for (const path of module.passedOnWhole) {
      for (const [name, { type }] of moduleAt(path).passedOn)
        module.passedOn.set(name, { name, path, target: path, type })
    }
    for (const name of [...module.declared.keys(), ...module.passedOn.keys()]) need(moduleAt, entry, name)
  }
  const fileOf = (path) =>
    Object.entries(entries).find(([, entry]) => path.startsWith(`${dirname(entry)}/`))?.[0] ?? SCHEMAS
  mkdirSync(out, { recursive: true })
  for (const file of [...Object.keys(entries), SCHEMAS]) {
    const paths = [...modules.keys()].filter((path) => fileOf(path) === file).sort()
    const exported = exportsOf(moduleAt, entries[file])
    const head = importsOf({ moduleAt, fileOf, paths, file, exported })
    const texts = await Promise.all(paths.map((path) => declarationsOf(dist, path, moduleAt(path), file === SCHEMAS)))
    mustDiffer(file, texts.flat())
    writeFileSync(join(out, `${file}.d.ts`), `${[...head, ...texts.flat()].join('\n')}\nexport {}\n`)
  }
}

/** The exports of an entry: their names, and where each is declared under which name. */
function exportsOf(moduleAt, entry) {
  if (entry === undefined) return []
  const { passedOn } = moduleAt(entry)
  return [...passedOn.keys()].map((local) => ({ local, ...declarerOf(moduleAt, entry, local) }))
}

function declarerOf(moduleAt, path, local) {
  const { passedOn, imported } = moduleAt(path)
  const source = passedOn.get(local) ?? imported.get(local)
  return source?.path === undefined ? { path, name: local } : declarerOf(moduleAt, source.path, source.name)
}

/** The first lines of a file: its imports from the other files, and its exports. */
function importsOf({ moduleAt, fileOf, paths, file, exported }) {
  const taken = paths.flatMap((path) =>
    [...moduleAt(path).imported.keys()]
      .filter((local) => moduleAt(path).needed.has(local))
      .map((local) => ({ local, ...declarerOf(moduleAt, path, local) })),
  )
  for (const { local, name, path } of taken) {
    if (local !== name) throw new Error(`${path}: ${name} is imported as ${local}, which one file of types cannot say`)
  }
  const others = [...new Set(taken.map(({ path }) => fileOf(path)))].filter((other) => other !== file)
  const imports = others.map((other) => {
    const names = taken.filter(({ path }) => fileOf(path) === other).map(({ name }) => name)
    return `import type { ${sorted(names)} } from './${other}.js'`
  })
  const own = exported.map(({ local, name }) => (local === name ? name : `${name} as ${local}`))
  return own.length === 0 ? imports : [...imports, `export { ${sorted(own)} }`]
}

function sorted(names) {
  return [...new Set(names)].sort().join(', ')
}

/** The needed declarations of a module. The file of an entry exports them in a list, the file of schemas at each declaration. */
async function declarationsOf(dist, path, { ofZod, needed, declared }, inPlace) {
  if (ofZod) return plainTypes(dist, path, needed)
  return [...declared]
    .filter(([name]) => needed.has(name))
    .flatMap(([, texts]) => texts)
    .map((text) => text.replace(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 4)).trimEnd())
    .map((text) => (inPlace ? text : text.replace(/^export (?=declare|interface|type|abstract)/m, '')))
}

/** Fails if two modules of a file declare the same name, except for overloads of a function. */
function mustDiffer(file, texts) {
  const names = texts
    .map(withoutComments)
    .filter((code) => !/^(?:export )?declare function/m.test(code))
    .map((code) => DECLARED.exec(code.trim())?.[1])
  const twice = names.find((name, at) => names.indexOf(name) < at)
  if (twice !== undefined) throw new Error(`${file}: two modules declare ${twice}; rename one of them`)
}

/** Marks a declaration, and all declarations that its text names. It may mark too many, but never too few. */
function need(moduleAt, path, name) {
  const module = moduleAt(path)
  if (module.needed.has(name)) return
  module.needed.add(name)
  const source = module.passedOn.get(name) ?? module.imported.get(name)
  if (source?.path !== undefined) need(moduleAt, source.path, source.name)
  if (module.ofZod) return
  for (const chunk of module.declared.get(name) ?? []) {
    for (const [word] of withoutComments(chunk).matchAll(WORD)) {
      if (module.declared.has(word) || module.imported.has(word)) need(moduleAt, path, word)
    }
  }
}

/** Names and the texts that declare them: several if a function is overloaded, or if a name is both a value and a type. */
function parseModule(path, text) {
  const module = {
    ofZod: /from 'zod'/.test(withoutComments(text)),
    declared: new Map(),
    imported: new Map(),
    passedOn: new Map(),
    /** Modules that an entry re-exports completely. */
    passedOnWhole: [],
    needed: new Set(),
  }
  for (const chunk of chunksOf(text)) {
    const code = withoutComments(chunk).trim()
    const found = IMPORT.exec(code)
    const whole = WHOLE.exec(code)
    if (whole !== null) module.passedOnWhole.push(besideOf(path, whole[1]))
    else if (found !== null) readNames(module, path, found)
    else {
      const name = DECLARED.exec(code)?.[1]
      if (name !== undefined) module.declared.set(name, [...(module.declared.get(name) ?? []), chunk])
      else if (code !== '' && code !== 'export {};')
        throw new Error(`${path}: what does this declare? ${code.slice(0, 80)}`)
    }
  }
  return module
}

function readNames(module, path, [, kind, type = '', names, target]) {
  const file = target?.startsWith('.') ? besideOf(path, target) : undefined
  for (const entry of names.split(',').filter((each) => each.trim() !== '')) {
    const [name, local = name] = entry
      .trim()
      .replace(/^type /, '')
      .split(' as ')
    const list = kind === 'import' ? module.imported : module.passedOn
    // `export type { A }` of a name that is imported above.
    list.set(local, target === undefined ? { ...module.imported.get(name), type } : { name, path: file, target, type })
  }
}

function besideOf(path, target) {
  return normalize(join(dirname(path), target.replace(/\.ts$/, ''))).replaceAll('\\', '/')
}

/** Top-level statements, each with its preceding comment: the compiler indents everything inside a statement. */
function chunksOf(text) {
  const chunks = []
  let inComment = false
  let comment = ''
  for (const line of text.split('\n')) {
    if (line.startsWith('//#')) continue
    if (inComment || line.startsWith('/**')) {
      comment += `${line}\n`
      inComment = !line.includes('*/')
    } else if (/^(import|export|declare|interface|type|class|function|const|abstract)\b/.test(line)) {
      chunks.push(`${comment}${line}\n`)
      comment = ''
    } else if (chunks.length > 0) chunks[chunks.length - 1] += `${line}\n`
  }
  return chunks
}

/** Removes examples, which import `countersign`, and the comments about modules, which are for maintainers: together they would be a tenth of the package. */
function forReaders(text) {
  return (
    text
      .replace(/^\/\*\*\s+(?:\* )?@module[\s\S]*?\*\/\n/, '')
      .replace(/^ *\* @example\n(?: *\* .*\n| *\*\n)*?(?= *\*\/)/gm, '')
      // A comment without paragraphs or lists is joined into one line.
      .replace(
        /\/\*\*\n((?: *\* [^-\n].*\n)+) *\*\//g,
        (_, lines) =>
          `/** ${lines
            .replace(/^ *\* /gm, '')
            .trim()
            .replaceAll('\n', ' ')} */`,
      )
  )
}

function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\//g, '')
}

/** The needed types of a module of schemas, written out. */
async function plainTypes(dist, path, names) {
  const module = await import(pathToFileURL(join(dist, `${path}.js`)).href)
  const { JsonValue, JsonRecord } = await import(pathToFileURL(join(dist, 'schemas', 'values.js')).href)
  const known = new Map([
    [JsonValue, 'Json'],
    [JsonRecord, 'JsonObject'],
  ])
  const texts = [...names].sort().map((name) => declarationOf(module, name, known, path))
  // No member of an answer is undefined (`Plain`).
  return path.startsWith('schemas/answers/') ? texts.map((text) => text.replaceAll(' | undefined', '')) : texts
}

function declarationOf(module, name, known, path) {
  if (name === 'EventBody') {
    const bodies = Object.entries(module.EVENTS).map(([type, { schema }]) => `  ${type}: ${typeText(schema, known)}`)
    return `interface EventBodies {\n${bodies.join('\n')}\n}\nexport type EventBody<T extends keyof EventBodies> = EventBodies[T]`
  }
  if (name === 'RunEventType') return `export type RunEventType = ${union(Object.keys(module.RUN_EVENTS).map(quoted))}`
  if (module[name]?._zod === undefined) throw new Error(`${path} declares no schema ${name} to write out as a type`)
  return `export type ${name} = ${typeText(module[name], known)}`
}

/** The TypeScript type of a schema's output. Throws for a kind that no schema uses so far. */
function typeText(schema, known) {
  if (known.has(schema)) return known.get(schema)
  const { def } = schema
  const of = (inner) => typeText(inner, known)
  switch (def.type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return def.type
    case 'literal':
      return union(def.values.map(quoted))
    case 'enum':
      return union(Object.values(def.entries).map(quoted))
    case 'array':
      return `(${of(def.element)})[]`
    case 'tuple':
      return `[${def.items.map(of).join(', ')}]`
    case 'readonly':
      return `Readonly<${of(def.innerType)}>`
    case 'optional':
      return `${of(def.innerType)} | undefined`
    case 'nullable':
      return `${of(def.innerType)} | null`
    case 'union':
      return union(def.options.map(of))
    case 'record':
      return `Record<string, ${of(def.valueType)}>`
    case 'object':
      return `{ ${Object.entries(def.shape)
        .map(([name, member]) => `${quoted(name)}${member.def.type === 'optional' ? '?' : ''}: ${of(member)}`)
        .join('; ')} }`
    default:
      throw new Error(`a schema of kind ${def.type} has no type here`)
  }
}

function union(texts) {
  return texts.join(' | ')
}

function quoted(value) {
  return JSON.stringify(value)
}
