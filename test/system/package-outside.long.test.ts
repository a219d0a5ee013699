import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type CommandResult, cleanEnv, runCommand } from '../support/command-line.ts'
import { PackedPackages, run } from '../support/packed-packages.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { ROOT } from '../support/source-root.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('the packages in a project outside')
const BUNDLE_MAX_BYTES = 350_000
const UNPACKED_MAX_BYTES = 7_000_000
const folder = tempFolder()
const packed = new PackedPackages(folder)
let server: ServerProcess
test.before(async () => {
  packed.pack()
  server = await startServer()
})
test.after(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

/** By the name that it is printed under: the Node of the tests, and the others where they are (npm ci --prefix tools/other-nodes). */
const ENGINES = [
  { name: `Node ${process.versions.node}`, file: process.execPath },
  { name: 'Node 22', file: join(ROOT, 'tools/other-nodes/node_modules/node-22/bin/node') },
  { name: 'Bun', file: join(ROOT, 'tools/other-nodes/node_modules/bun/bin/bun') },
]
const HERE = ENGINES.filter(({ file }) => existsSync(file))
if (HERE.length < ENGINES.length)
  console.log('skipped: other engines than this Node (npm ci --prefix tools/other-nodes)')

const ONE_RUN = `
async function main() {
  const cs = connect({ url: process.env.URL_OF, token: process.env.TOKEN_OF })
  const add = cs.tool({ name: 'add', execute: async ({ n }) => n + 1, compensate: 'not-needed' })
  console.log(await cs.run({ id: process.argv[2], name: 'bundled' }, async () => add({ n: 41 })))
  await cs.close()
}
main()`

async function bundled(
  project: string,
  format: 'esm' | 'cjs',
  minify: boolean,
): Promise<{ file: string; text: string }> {
  const file = join(project, `out-${minify ? 'min-' : ''}${format}.${format === 'esm' ? 'mjs' : 'cjs'}`)
  const options = { bundle: true, platform: 'node', format, minify, logLevel: 'warning' } as const
  const { warnings } = await build({ entryPoints: [join(project, 'main.js')], outfile: file, ...options })
  assert.equal(
    warnings.map(({ text }) => text),
    [],
  )
  return { file, text: readFileSync(file, 'utf8') }
}

for (const name of ['countersign', 'countersign-client']) {
  const main = `import { connect } from '${name}/agent'\n${ONE_RUN}`
  const projectOf = (suffix: string) =>
    name === 'countersign'
      ? packed.serverProject(`${name}-${suffix}`, { 'main.js': main })
      : packed.clientProject(`${name}-${suffix}`, { 'main.js': main })

  for (const format of ['esm', 'cjs'] as const) {
    test(`connect of ${name} bundles to at most 350 kB of ${format}, without a schema library or a driver, and runs on each engine (A420)`, async () => {
      const project = projectOf(format)
      const [plain, minified] = [await bundled(project, format, false), await bundled(project, format, true)]
      const [whole, small] = [Buffer.byteLength(plain.text), Buffer.byteLength(minified.text)]
      console.log(`connect of ${name}, ${format}: ${whole} bytes, minified ${small}`)
      assert.ok(small <= BUNDLE_MAX_BYTES, `${small} bytes`)
      for (const other of ['ZodError', 'better_sqlite3', 'better-sqlite3', 'createLedger'])
        assert.not.ok(plain.text.includes(other), other)
      for (const engine of HERE) {
        const id = `${name}-${format}-${engine.name.replaceAll(/\W/g, '-')}`
        const ended = await runCommand([engine.file, minified.file, id], { env: await connected() })
        assert.is(ended.stdout.trim(), '42', `${engine.name}: ${ended.stderr}`)
      }
    })
  }
}

async function connected(): Promise<NodeJS.ProcessEnv> {
  return cleanEnv({ URL_OF: server.url, TOKEN_OF: await server.token() })
}

test('everything of countersign-client bundles where none of its optional packages is installed, and says which one is missing (A420)', async () => {
  const main = `import * as all from 'countersign-client/agent'
    const fetched = all.trustedFetch({ allow: ['127.0.0.1:1'] })('http://127.0.0.1:1').catch((error) => error)
    fetched.then((error) => console.log(Object.keys(all).length > 20, error.code, error.message))`
  const { file } = await bundled(packed.clientProject('everything', { 'main.js': main }), 'esm', false)
  const { stdout, stderr } = await runCommand([process.execPath, file], { env: cleanEnv() })
  assert.match(stdout, /^true package-missing .*npm install undici ipaddr\.js/, stderr)
})

interface PackedFile {
  readonly path: string
  readonly size: number
}

function filesOfPackage(): readonly PackedFile[] {
  const [listed] = JSON.parse(run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--silent'], ROOT))
  return listed.files
}

/** Of docs/operations.md: `| files | what they are | size |`, the files by the beginnings of their paths. */
const ROW = /^\| (`.*) \| [^|]+ \| ([\d,]+) kB \|$/gm

test('the package has at most 7 MB unpacked, of which the document has a table, and what its page links to (A422)', () => {
  const files = filesOfPackage()
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  console.log(`countersign: ${files.length} files, ${bytes} bytes unpacked`)
  assert.ok(bytes <= UNPACKED_MAX_BYTES, `${bytes} bytes`)
  assert.equal(
    files.filter(({ path }) => /\.(map|png|jpe?g|tsx|tsbuildinfo)$|^(src|test|bench|dist\/test)\//.test(path)),
    [],
  )
  const paths = files.map(({ path }) => path)
  const links = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/[^!]\[[^\]]*\]\(([^)#\s]+)[^)]*\)/g)]
  const linked = links.map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target))
  assert.ok(linked.length > 20, 'the scan must see the links')
  assert.equal(
    linked.filter(
      (target) => !paths.some((path) => path === target || path.startsWith(`${target.replace(/\/$/, '')}/`)),
    ),
    [],
  )
  const rows = [...readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').matchAll(ROW)].map(
    ([, places = '', kb = '']) => ({
      places: [...places.matchAll(/`([^`]+)`/g)].map(([, place = '']) => place),
      kb: Number(kb.replaceAll(',', '')),
    }),
  )
  const rowOf = ({ path }: PackedFile) => rows.find(({ places }) => places.some((place) => path.startsWith(place)))
  assert.equal(
    files.filter((file) => rowOf(file) === undefined),
    [],
  )
  for (const row of rows) {
    const held = files.filter((file) => rowOf(file) === row).reduce((sum, { size }) => sum + size / 1000, 0)
    assert.ok(Math.abs(held - row.kb) <= Math.max(20, row.kb / 10), `${row.places.join(', ')}: ${Math.round(held)} kB`)
  }
})

test('installed from its tarball with its dependencies alone, the package serves, writes, exports, verifies and runs an agent, its threads included (A423)', async () => {
  const agent = `import { open } from 'countersign/agent'
    const cs = await open({ path: process.argv[2], serve: 0 })
    const add = cs.tool({ name: 'add', execute: async ({ n }) => n + 1, compensate: 'not-needed' })
    console.log(await cs.run({ id: 'here', name: 'here' }, async () => add({ n: 41 })), (await fetch(cs.url + '/healthz')).status)
    const body = async () => add({ n: 7 })
    console.log((await cs.replay('here', body).catch((error) => error)).message)
    await cs.close()`
  const project = packed.serverProject('served', {
    'agent.js': agent,
    'main.js': `import { connect } from 'countersign/agent'\n${ONE_RUN}`,
  })
  const program = join(project, 'node_modules/countersign/dist/programs/countersign.js')
  const command = (...args: readonly string[]): Promise<CommandResult> =>
    runCommand([process.execPath, program, ...args], { cwd: project, env: cleanEnv() })
  const data = folder.file('served-data')
  const here = await runCommand([process.execPath, 'agent.js', data], { cwd: project, env: cleanEnv() })
  assert.match(here.stdout, /^42 200$/m, here.stderr)
  assert.match(here.stdout, /agent\.js:5:\d+/, 'a divergence names the line of the program, and none of the package')
  await using serving = await startServer({ program, data, args: ['--read-threads', '2'] })
  const env = cleanEnv({ URL_OF: serving.url, TOKEN_OF: await serving.token() })
  const ran = await runCommand([process.execPath, 'main.js', 'over-http'], { cwd: project, env })
  assert.is(ran.stdout.trim(), '42', ran.stderr)
  const ask = async (path: string): Promise<number> => {
    const response = await fetch(serving.url + path, { headers: { authorization: `Bearer ${env.TOKEN_OF}` } })
    await response.arrayBuffer()
    return response.status
  }
  for (const path of ['/ui/assets/base.css', '/openapi.json', '/problems/run-not-found', '/v1/export'])
    assert.is(await ask(path), 200, path)
  const stopped = await serving.stop()
  assert.is(stopped.code, 0, serving.output)
  for (const args of [
    ['export', '--data', data, '--out', 'export.jsonl'],
    ['verify', '--data', data, '--threads', '2'],
    ['verify', 'export.jsonl', '--data', data],
    ['export', '--data', data, '--run', 'here', '--bundle', 'bundle.tar'],
  ]) {
    const ended = await command(...args)
    assert.is(ended.code, 0, `countersign ${args.join(' ')}: ${ended.stdout}${ended.stderr}`)
  }
})

test.run()
