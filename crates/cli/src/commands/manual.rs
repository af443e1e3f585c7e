//! `admit manual`: completions for shells, manual pages, and the list of settings, made from the definitions of the
//! commands.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Command, Subcommand};
use clap_complete::Shell;

use crate::settings_page;

/// `admit manual`.
#[derive(Debug, Subcommand)]
pub enum Manual {
    /// Print the completions of commands for a shell.
    #[command(after_help = "Example:\n  admit manual completions bash > /etc/bash_completion.d/admit")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write one manual page per command into a folder.
    #[command(after_help = "Example:\n  admit manual pages ./man")]
    Pages {
        /// The folder. The command makes it.
        folder: PathBuf,
    },
    /// Print every setting with its default and description, as the Markdown page docs/settings.md.
    #[command(after_help = "Example:\n  admit manual settings > docs/settings.md")]
    Settings,
}

impl Manual {
    /// Runs the command.
    pub fn run(self, mut command: Command) -> anyhow::Result<()> {
        match self {
            Self::Completions { shell } => {
                let name = command.get_name().to_owned();
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command, name, &mut script);
                print!("{}", String::from_utf8_lossy(&script));
                Ok(())
            }
            Self::Settings => {
                print!("{}", settings_page::page(&command));
                Ok(())
            }
            Self::Pages { folder } => {
                std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
                clap_mangen::generate_to(command, &folder)
                    .with_context(|| format!("writing pages into {}", folder.display()))
            }
        }
    }
}
