//! The schema nodes directly below a node, whatever keyword holds them; nested `definitions` are not below it.

use super::node::{Additional, Dependency, Items, Node};

impl Node {
    /// Calls `visit` with each child.
    pub(super) fn each_child(&self, visit: &mut dyn FnMut(&Self)) {
        if let Some(object) = &self.object {
            object
                .properties
                .iter()
                .flatten()
                .for_each(|(_, node)| visit(node));
            object
                .patterns
                .iter()
                .flatten()
                .for_each(|(_, (_, node))| visit(node));
            if let Some(Additional::Schema(node)) = &object.additional {
                visit(node);
            }
            for dependency in object.dependencies.iter().flat_map(|all| all.values()) {
                if let Dependency::Schema(node) = dependency {
                    visit(node);
                }
            }
        }
        if let Some(list) = &self.list {
            match &list.items {
                Some(Items::One(node)) => visit(node),
                Some(Items::Tuple(nodes)) => nodes.iter().for_each(&mut *visit),
                None => {}
            }
            if let Some(Additional::Schema(node)) = &list.additional {
                visit(node);
            }
        }
        if let Some(branches) = &self.branches {
            branches.all_of.iter().for_each(&mut *visit);
            branches.any_of.iter().for_each(&mut *visit);
            branches.one_of.iter().for_each(&mut *visit);
            branches.not.iter().for_each(|node| visit(node));
        }
    }

    /// Calls `visit` with each child, in the same order, until it fails.
    pub(super) fn try_each_child_mut<E>(
        &mut self,
        visit: &mut dyn FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(object) = &mut self.object {
            object
                .properties
                .iter_mut()
                .flatten()
                .try_for_each(|(_, node)| visit(node))?;
            object
                .patterns
                .iter_mut()
                .flatten()
                .try_for_each(|(_, (_, node))| visit(node))?;
            if let Some(Additional::Schema(node)) = &mut object.additional {
                visit(node)?;
            }
            for dependency in object
                .dependencies
                .iter_mut()
                .flat_map(|all| all.values_mut())
            {
                if let Dependency::Schema(node) = dependency {
                    visit(node)?;
                }
            }
        }
        if let Some(list) = &mut self.list {
            match &mut list.items {
                Some(Items::One(node)) => visit(node)?,
                Some(Items::Tuple(nodes)) => nodes.iter_mut().try_for_each(&mut *visit)?,
                None => {}
            }
            if let Some(Additional::Schema(node)) = &mut list.additional {
                visit(node)?;
            }
        }
        if let Some(branches) = &mut self.branches {
            branches.all_of.iter_mut().try_for_each(&mut *visit)?;
            branches.any_of.iter_mut().try_for_each(&mut *visit)?;
            branches.one_of.iter_mut().try_for_each(&mut *visit)?;
            branches.not.iter_mut().try_for_each(|node| visit(node))?;
        }
        Ok(())
    }
}
