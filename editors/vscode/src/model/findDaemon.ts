/** The one way to find the daemon: the setting `pid.serverPath`, else `pid` on the path. Pure. */

import { INSTALL_COMMAND, NoDaemon } from "./faults";

export interface Surroundings {
  /** `pid.serverPath`, as the user wrote it. */
  readonly setting: string | undefined;
  /** `$PATH`. */
  readonly path: string;
  readonly home: string;
  /** Whether a file is there and may be run. */
  readonly isExecutable: (file: string) => boolean;
}

/**
 * The absolute path of the daemon's program.
 * @throws NoDaemon with what to do
 */
export function findDaemon({ setting, path, home, isExecutable }: Surroundings): string {
  const named = setting?.trim();
  if (named) {
    return named.includes("/") ? fromSetting(named, home, isExecutable) : onPath(named, path, isExecutable);
  }
  return onPath("pid", path, isExecutable);
}

function fromSetting(named: string, home: string, isExecutable: Surroundings["isExecutable"]): string {
  const file = named.replace(/^~(?=\/)/, home);
  if (!file.startsWith("/")) {
    throw new NoDaemon(
      `The setting pid.serverPath is “${named}”. It must be an absolute path, or a name to look for on the path.`,
    );
  }
  if (!isExecutable(file)) {
    throw new NoDaemon(`The setting pid.serverPath names ${file}, which is no program.`);
  }
  return file;
}

function onPath(name: string, path: string, isExecutable: Surroundings["isExecutable"]): string {
  for (const directory of path.split(":")) {
    const file = `${directory}/${name}`;
    if (directory.startsWith("/") && isExecutable(file)) {
      return file;
    }
  }
  throw new NoDaemon(
    `There is no command “${name}” on the path. Install the daemon with “${INSTALL_COMMAND}” in a clone of the project pid, or name its program in the setting pid.serverPath.`,
  );
}
