import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { cleanEnv, runCommand } from '../support/command-line.ts'
import { PackedPackages, run } from '../support/packed-packages.ts'
import { startServer } from '../support/server-process.ts'
import { ROOT } from '../support/source-root.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('the packages, packed and used from outside')
/** With the runtime and its workers; what deflate makes of the same files differs by a few hundred bytes between processors. */
const CLIENT_MAX_BYTES = 144 * 1024
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')

const folder = tempFolder()
const packed = new PackedPackages(folder)
test.before(() => packed.pack())
test.after(() => folder[Symbol.dispose]())

const PROGRAM = `
import { connect, type Run } from 'NAME/agent'
import { createClient, LedgerError } from 'NAME/client'
const client = createClient({ url: 'http://127.0.0.1:1', token: 'x' })
export const asked: Promise<{ readonly created: boolean }> = client.execute('', { kind: 'start', body: { name: 'a', tags: ['b'] } })
// @ts-expect-error a member of another type: the types are there and are not any
client.execute('', { kind: 'start', body: { name: 7 } })
const cs = connect({ url: 'http://127.0.0.1:1', token: 'x' })
const tool = cs.tool({ name: 't', execute: async ({ n }: { n: number }) => ({ n }), compensate: 'not-needed' })
export const out: Promise<number> = cs.run({ name: 'r', input: { a: 1 } }, async (run: Run<{ a: number }>) => (await tool({ n: run.input.a })).n)
// @ts-expect-error arguments have their types
void (() => tool({ n: 'text' }))
export const error: new (...args: never[]) => Error = LedgerError as never
`
const programFor = (name: string): string =>
  name === 'countersign'
    ? PROGRAM.replaceAll('NAME', name)
    : PROGRAM.replaceAll('NAME/client', name).replaceAll('NAME', name)

function configFor(module: 'nodenext' | 'bundler'): string {
  const compilerOptions = {
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.asynciterable'],
    types: [],
    ...(module === 'nodenext' ? { module } : { module: 'esnext', moduleResolution: module }),
  }
  return JSON.stringify({ compilerOptions, include: ['*.ts', '*.cts'] })
}

test('the client package is below 144 KiB, brings no other package, and holds nothing of the server', () => {
  const { size } = statSync(packed.tarball('countersign-client'))
  assert.ok(size < CLIENT_MAX_BYTES, `${size} bytes packed`)
  const project = packed.clientProject('alone', {})
  const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))
  assert.equal(installed, ['countersign-client'])
  const text = ['index.js', 'agent.js'].map((file) =>
    readFileSync(join(project, 'node_modules/countersign-client', file), 'utf8'),
  )
  for (const name of ['better-sqlite3', 'zod', 'hono', 'pino']) assert.not.ok(text.join().includes(`'${name}'`), name)
  const whole = statSync(packed.tarball('countersign')).size
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  const packages = Object.entries(lock.packages).filter(
    ([path, { dev, peer, optional, devOptional }]) =>
      path.startsWith('node_modules/') && !dev && !peer && !optional && !devOptional,
  )
  console.log(
    `countersign-client: ${size} bytes, 1 package; countersign: ${whole} bytes, ${packages.length + 1} packages`,
  )
})

for (const module of ['nodenext', 'bundler'] as const) {
  test(`the types of the client package are clean under ${module}, the libraries' own included`, () => {
    const files = { 'tsconfig.json': configFor(module), 'b.ts': programFor('countersign-client') }
    const required = module === 'nodenext' ? { 'c.cts': programFor('countersign-client') } : {}
    const client = packed.clientProject(`types-${module}`, { ...files, ...required })
    run(TSC, ['-p', client], client)
  })
}

for (const module of ['nodenext', 'bundler'] as const) {
  test(`the types of the whole package are clean under ${module}, the libraries' own included`, () => {
    // The runtime hands out Node's own types, such as `Buffer` and `AbortSignal`.
    const config = configFor(module).replace('"types":[]', '"types":["node"]')
    const whole = packed.serverProject(
      `whole-types-${module}`,
      { 'tsconfig.json': config, 'b.ts': programFor('countersign') },
      ['@types/node'],
    )
    run(TSC, ['-p', whole], whole)
  })
}

/**
 * ES modules alone are published: `require` of one works in every Node that `engines` takes. The rules of Node 10 know no
 * `exports`.
 */
const isTaken = (problem: Problem): boolean =>
  problem.kind === 'CJSResolvesToESM' || ('resolutionKind' in problem && problem.resolutionKind === 'node10')

for (const name of ['countersign', 'countersign-client']) {
  test(`publint and arethetypeswrong find nothing wrong with ${name} as it is packed`, async () => {
    const bytes = new Uint8Array(readFileSync(packed.tarball(name)))
    const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, strict: true })
    assert.equal(
      messages.map((message) => formatMessage(message, pkg)),
      [],
    )
    const analysed = await checkPackage(createPackageFromTarballData(bytes))
    assert.ok(analysed.types, `${name} has types`)
    const problems = 'problems' in analysed ? analysed.problems : []
    assert.equal(
      problems.filter((problem) => !isTaken(problem)).map((problem) => JSON.stringify(problem)),
      [],
    )
  })
}

test('countersign-client/agent and countersign/agent export the same names, but for those that open a ledger here', async () => {
  const ask =
    "const names = (m) => Object.keys(m).sort(); console.log(JSON.stringify([names(await import('NAME/agent')), names(await import('CLIENT'))]))"
  const ofClient = packed.clientProject('names-client', {
    'n.js': ask.replace('NAME', 'countersign-client').replace('CLIENT', 'countersign-client'),
  })
  const ofServer = packed.serverProject('names-server', {
    'n.js': ask.replace('NAME', 'countersign').replace('CLIENT', 'countersign/client'),
  })
  const [agent, client] = JSON.parse(run(process.execPath, ['n.js'], ofClient))
  const [wholeAgent, wholeClient] = JSON.parse(run(process.execPath, ['n.js'], ofServer))
  assert.equal([...agent, 'fromEnv', 'open'].sort(), wholeAgent)
  assert.equal(client, wholeClient)
})

test('CommonJS requires every entry, and an older Node says that it is an ES module', async () => {
  const client = packed.clientProject('cjs-client', {
    'a.cjs':
      "require('countersign-client').createClient.name; console.log(typeof require('countersign-client/agent').connect)",
  })
  const server = packed.serverProject('cjs-server', {
    'a.cjs': "require('countersign/client').createClient.name; console.log(typeof require('countersign/agent').open)",
  })
  for (const project of [client, server]) {
    assert.is(run(process.execPath, ['a.cjs'], project).trim(), 'function')
    const older = await runCommand([process.execPath, '--no-experimental-require-module', 'a.cjs'], {
      cwd: project,
      env: cleanEnv(),
    })
    assert.is(older.code, 1)
    assert.match(older.stderr, /ERR_REQUIRE_ESM/)
  }
})

test('a browser bundles the client without anything of Node, and is told what the runtime needs', async () => {
  const project = packed.clientProject('browser', {
    'client.js':
      "import { createClient } from 'countersign-client'\nglobalThis.client = createClient({ url: 'http://127.0.0.1:1', token: 'x' })",
    'agent.js': "import { connect } from 'countersign-client/agent'\nglobalThis.connect = connect",
  })
  const bundle = (entry: string) =>
    build({
      entryPoints: [join(project, entry)],
      bundle: true,
      platform: 'browser',
      write: false,
      metafile: true,
      logLevel: 'silent',
    })
  const { outputFiles, metafile } = await bundle('client.js')
  assert.equal(
    Object.values(metafile.outputs).flatMap(({ imports }) => imports),
    [],
  )
  console.log(`a browser's bundle of the client: ${outputFiles[0]?.contents.length} bytes`)
  await bundle('agent.js').then(
    () => assert.unreachable('the runtime needs Node'),
    (error) => assert.match(String(error.message), /node:async_hooks/),
  )
})

test('the runtime of the client package runs against a server', async () => {
  await using server = await startServer()
  const project = packed.clientProject('over-http', {
    'run.js': `import { connect } from 'countersign-client/agent'
      const cs = connect({ url: process.env.URL_OF, token: process.env.TOKEN_OF })
      const add = cs.tool({ name: 'add', execute: async ({ n }) => n + 1, compensate: 'not-needed' })
      console.log(await cs.run({ id: 'packed', name: 'r' }, async () => add({ n: 41 })))
      await cs.close()`,
  })
  const token = await server.token()
  const ended = await runCommand([process.execPath, 'run.js'], {
    cwd: project,
    env: cleanEnv({ URL_OF: server.url, TOKEN_OF: token }),
  })
  assert.is(ended.stdout.trim(), '42', ended.stderr)
})

for (const format of ['cjs', 'esm'] as const) {
  test(`a program that opens a ledger runs as one ${format} file, far from the package`, async () => {
    const source = `import { open } from 'countersign/agent'
      async function main() {
        const cs = await open({ path: process.argv[2] })
        const add = cs.tool({ name: 'add', execute: async ({ n }) => n + 1, compensate: 'not-needed' })
        console.log(await cs.run({ name: 'bundled' }, async () => add({ n: 41 })))
        await cs.close()
      }
      main()`
    const project = packed.serverProject(`bundle-${format}`, { 'main.js': source })
    const deployed = folder.file(`deployed-${format}`)
    const outfile = join(deployed, `main.${format === 'cjs' ? 'cjs' : 'mjs'}`)
    const options = {
      bundle: true,
      platform: 'node' as const,
      format,
      external: ['better-sqlite3'],
      logLevel: 'error' as const,
    }
    await build({ entryPoints: [join(project, 'main.js')], outfile, ...options })
    rmSync(project, { recursive: true })
    mkdirSync(join(deployed, 'node_modules'))
    for (const name of ['better-sqlite3']) {
      symlinkSync(join(ROOT, 'node_modules', name), join(deployed, 'node_modules', name))
    }
    // From another working directory: what the thread needs is found beside the program.
    const data = folder.file(`data-${format}`)
    for (const _ of [1, 2]) {
      const ended = await runCommand([process.execPath, outfile, data], { cwd: dirname(folder.path), env: cleanEnv() })
      assert.is(ended.stdout.trim(), '42', ended.stderr)
    }
    assert.ok(existsSync(join(data, 'store.db')))
  })
}

test.run()
