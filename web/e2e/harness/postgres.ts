import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Beside, isRoot, sharedFolder, type User } from "./beside.ts";
import { until } from "./wait.ts";

/**
 * A test's own PostgreSQL server, as an organiser may have one. It listens on a socket, and its data is deleted after the test.
 * `durable`: commits are durable, which Admit demands of a server for its own data.
 */
export class Postgres {
  readonly #bin: string;
  readonly #folder: string;
  readonly #server: Beside;

  private constructor(bin: string, folder: string, server: Beside) {
    this.#bin = bin;
    this.#folder = folder;
    this.#server = server;
  }

  static async start(durable = false): Promise<Postgres> {
    const bin = programs();
    // PostgreSQL refuses to run as root.
    const user = isRoot ? postgresUser() : undefined;
    const folder = sharedFolder("pg", user);
    const made = `${bin}/initdb -D ${folder}/data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null`;
    const run = `exec ${bin}/postgres -D ${folder}/data -k ${folder} -c listen_addresses='' -c fsync=${durable ? "on" : "off"}`;
    const server = new Beside(`{ ${made} && ${run}; }`, "kill -INT $started", folder, user);
    const postgres = new Postgres(bin, folder, server);
    try {
      await until("PostgreSQL", () => postgres.ask("postgres", "postgres", "SELECT 'ready'") === "ready", { within: 60_000 });
    } catch (error) {
      await server.end();
      throw new Error(`PostgreSQL does not start:\n${server.log}`, { cause: error });
    }
    return postgres;
  }

  /** The address by which a role connects to a database. */
  address(role: string, database: string): string {
    return `host=${this.#folder} user=${role} dbname=${database}`;
  }

  /** Runs a file as `psql` runs it. */
  run(role: string, database: string, file: string): void {
    this.#psql(role, database, ["-f", file]);
  }

  /** Runs a statement, and gives the answer as text. */
  ask(role: string, database: string, sql: string): string {
    return this.#psql(role, database, ["-c", sql]);
  }

  async end(): Promise<void> {
    await this.#server.end();
  }

  #psql(role: string, database: string, what: readonly string[]): string {
    const flags = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", ...what];
    const out = execFileSync(join(this.#bin, "psql"), [this.address(role, database), ...flags], { stdio: "pipe", encoding: "utf8" });
    return out.trim();
  }
}

/** The folder of PostgreSQL's programs. Debian has one for each version; this takes the newest. */
function programs(): string {
  const debian = "/usr/lib/postgresql";
  const found = existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, "bin")) : [];
  const bin = found.filter((folder) => existsSync(join(folder, "initdb"))).sort().at(-1);
  if (!bin) throw new Error(`there is no PostgreSQL in ${debian}: \`cargo xtask setup\` installs it`);
  return bin;
}

function postgresUser(): User {
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
